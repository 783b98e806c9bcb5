"""Python interface: the functions of ``import tokbench``.

    import tokbench

    counts = tokbench.count(texts)
    bpe = tokbench.build("bpe", counts, 4096)
    pathpiece = tokbench.build("pathpiece", counts, 4096, initial_size=16384)
    print(tokbench.compare([bpe, pathpiece], held_out))

Functions read files only if a text is a ``pathlib.Path``, or if their name says so. Only
:meth:`~tokbench.tokenizer.tokenizer.Tokenizer.save` and :meth:`~tokbench.pretokens.PretokenCounts.write` write files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokbench.api.texts import Paths, Texts, documents_of, tagged_texts, texts_of, tokenizer_of
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.pretokenization import Setting
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import shown
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from tokbench.api.comparison import Comparison
    from tokbench.building import Source
    from tokbench.construction import Construction
    from tokbench.intrinsic.texts import TextMeasures


READ = {
    "counts": ("tokbench.pretokens", "PretokenCounts", "tokbench.count(texts)"),
    "scores": ("tokbench.candidates.scored_text", "ScoredDocuments", "tokbench.candidates.scored_text.read_scores"),
    "documents": ("tokbench.candidates.running_text", "Documents", "tokbench.candidates.running_text.read_documents"),
}
"""Sources of constructions: module, class, and the call that creates one."""


def count(texts: Texts, pretokenization: Setting = "gpt2") -> PretokenCounts:
    """Count the pre-tokens of texts.

    Args:
        texts: one document or several, each ``str`` (its UTF-8 bytes are counted) or ``bytes``. A ``pathlib.Path`` is
            read as on the command line. A single ``str`` that looks like a path is rejected.
        pretokenization: name of the pre-tokenization, see ``tokbench.pretokenizations``, or a mapping with its
            ``method`` and options. Default: ``gpt2``.

    Raises:
        TokbenchError: not a text, or an unknown pre-tokenization or option. Mappings, frames and datasets are
            rejected; pass one column.

    Examples:
        >>> counts = tokbench.count(["the cat", "the hat"])
        >>> counts
        PretokenCounts(3 unique, 4 in all, gpt2)
        >>> dict(counts.items())
        {b'the': 2, b' cat': 1, b' hat': 1}
    """
    return count_pretokens(texts_of("count", texts), pretokenization)


def count_files(
    paths: Paths,
    pretokenization: Setting = "gpt2",
    *,
    text_field: str | None = None,
    encoding: str | None = None,
) -> PretokenCounts:
    """Count the pre-tokens of files, one document in memory at a time.

    Args:
        paths: files as in :func:`read`.
        pretokenization: as in :func:`count`.
        text_field: as in :func:`read`.
        encoding: as in :func:`read`.

    Raises:
        TokbenchError: as :func:`read` and :func:`count`.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("note.txt").write_text("the cat sat on the mat")
        >>> tokbench.count_files("*.txt").total
        6
    """
    return count_pretokens(documents_of(paths, Fields(text_field, encoding=encoding)), pretokenization)


def build(
    construction: str,
    source: "Source",
    size: int,
    *,
    segmentation: str | None = None,
    segmentation_options: dict[str, Any] | None = None,
    initial: Vocabulary | str | Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int = 1,
    name: str = "",
    **options: Any,
) -> Tokenizer:
    """Build a vocabulary, and a tokenizer with it.

    Args:
        construction: name of the method, see ``tokbench.constructions``.
        source: source of the method: pre-token counts for most.
        size: number of tokens, including the 256 bytes; the result has fewer if the text does not yield more.
        segmentation: name of the segmentation, see ``tokbench.segmentations``. Default: that of the construction.
        segmentation_options: options of the segmentation. Default: its defaults.
        initial: initial vocabulary of a top-down method, or the construction that builds it from the counts: its name,
            or a mapping with its ``method`` and options. Default: that of the method.
        seed: random seed. Default: 0.
        threads: number of threads; the result does not depend on it. Default: 1.
        name: name of the tokenizer in tables. Default: name of the construction.
        options: options of the construction.

    Raises:
        TokbenchError: an unknown method or option, an invalid value, a source of the wrong type, a size smaller than
            the method's alphabet, or a source that the method rejects.

    Examples:
        >>> counts = tokbench.count("the cat sat on the mat and the hat " * 9)
        >>> tokbench.build("bpe", counts, 260)
        Tokenizer('bpe', gpt2, 260 tokens, merge)
        >>> tokbench.build("pathpiece", counts, 260, initial_size=270, initial="bpe", name="mine")
        Tokenizer('mine', gpt2, 260 tokens, shortest_path)
        >>> tokbench.constructions["bpe"]
        Construction('bpe', options: reserved, alphabet, character_coverage, min_pair_count, max_token_bytes, seeds)
    """
    from tokbench.building import BuildRecipe, build_tokenizer, own_segmentation
    from tokbench.construction import constructions, options_with_recipes
    from tokbench.options import validated
    from tokbench.segmentation import segmentations

    # Options of the construction; an initial vocabulary may be a recipe.
    method = constructions[construction]
    _check_source(method, source)
    _check_initial(method, source, initial)
    kind = method.options
    if isinstance(initial, Mapping):
        options, initial, kind = options | {"initial": dict(initial)}, None, options_with_recipes(method)
    elif isinstance(initial, str):
        options, initial = options | {"initial": initial}, None
    chosen: Any = validated(options, kind, construction)
    # The segmentation: the chosen one, or the construction's with its options.
    cut, shared = own_segmentation(method, chosen)
    given = segmentation_options or ({} if segmentation and segmentation != cut else shared)
    cut_options = validated(given, segmentations[segmentation or cut].options, segmentation or cut)
    recipe = BuildRecipe(
        construction=method,
        options=chosen,
        size=size,
        segmentation=segmentation or cut,
        segmentation_options=cut_options,
        seed=seed,
        name=name or construction,
    )
    return build_tokenizer(recipe, source, initial=initial, threads=threads)


def measure(tokenizer: Tokenizer, texts: PretokenCounts | Texts, **options: dict[str, Any]) -> "pl.DataFrame":
    """Compute all intrinsic metrics of a tokenizer on texts.

    Args:
        tokenizer: the tokenizer.
        texts: texts as in :func:`count`, or their counts under the tokenizer's pre-tokenization. A tokenizer that runs
            through another library, wraps a function, or whose tokens may cross pre-tokens needs the texts; metrics
            of pre-tokens then have no value.
        options: options of metrics by family, as in ``renyi={"orders": [2.5]}``; see ``tokbench.metrics``.

    Returns:
        One row per number, common ones first: ``key`` (a short unique name), ``metric``, ``definition`` (which word,
        which denominator), ``value`` (null if there is none), ``n`` (number of observations) and ``reason`` (reason
        for a missing value). Equal in all rows: ``documents_changed`` (documents that decoding does not restore; a
        tokenizer that loses text is not comparable with others), ``pretokenization`` and ``size`` (nominal; null if
        unknown).

    Raises:
        TokbenchError: not a tokenizer, not a text, counts under another pre-tokenization, an unknown family or
            option, or a family of metrics that are not of texts.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat sat on the mat and the hat " * 9), 260)
        >>> rows = tokbench.measure(bpe, "the cat and the mat")
        >>> rows["key"].head(4).to_list()
        ['corpus_token_count', 'bytes_per_token', 'fertility', 'fertility_words']
        >>> rows.filter(key="corpus_token_count")["value"].item()
        12.0
    """
    import polars as pl

    from tokbench.intrinsic.documents import measure_texts
    from tokbench.intrinsic.texts import measure_read_texts
    from tokbench.metric.keys import assign_keys

    tokenizer_of("measure", tokenizer)
    families = _families(options)
    if isinstance(texts, PretokenCounts):
        measured = _measured_counts(tokenizer, texts, families)
    else:
        documents = [("", text) for text in texts_of("measure", texts)]
        measured = measure_read_texts(tokenizer, documents, families=families)
        measured.rows.extend(measure_texts(tokenizer, lambda: documents, families=families))
    kinds = {"key": pl.String, "metric": pl.String, "definition": pl.String, "value": pl.Float64, "n": pl.Int64}
    kinds |= {"reason": pl.String, "documents_changed": pl.Int64, "pretokenization": pl.String, "size": pl.Int64}
    of_all = {
        "documents_changed": measured.loss["documents_changed"] if measured.loss else 0,
        "pretokenization": tokenizer.pretokenizer_label,
        "size": tokenizer.nominal_size or None,
    }
    keys = assign_keys([row for _, row in measured.rows])
    return pl.DataFrame([{"key": key, **asdict(row), **of_all} for key, row in keys], schema=kinds)


def _families(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the metrics of texts and of documents that are given, by family."""
    from tokbench.metric import metrics
    from tokbench.options import validated

    families: dict[str, Any] = {}
    for name, values in options.items():
        if metrics[name].of not in ("text", "documents"):
            seen = metrics[name].of.replace("_", " ")
            raise TokbenchError(f"{name}: a metric of {seen}; measure accepts only metrics of a text; leave it out")
        families[name] = validated(values, metrics[name].options, name)
    return families


def _measured_counts(tokenizer: Tokenizer, counts: PretokenCounts, families: Mapping[str, Any]) -> "TextMeasures":
    """Measure a tokenizer on counts, where these suffice."""
    from tokbench.intrinsic.texts import measure_counted_text
    from tokbench.metric import metrics

    if of_documents := [name for name in families if metrics[name].of == "documents"]:
        raise TokbenchError(f"{of_documents[0]}: a metric of documents; pass texts, not counts")
    if tokenizer.segments_documents:
        library = tokenizer.library_name
        way = f"works through {library}" if library else "has tokens that may cross pre-tokens"
        raise TokbenchError(f"measure: {tokenizer.name} {way}; pass texts, not counts")
    if tokenizer.normalization:
        raise TokbenchError(f"measure: {tokenizer.name} normalises texts; pass texts, not counts")
    _check_scheme(tokenizer, counts)
    return measure_counted_text(tokenizer, {"": counts}, families=families)


def compare(
    tokenizers: Iterable[Tokenizer],
    texts: Texts | Mapping[str, Texts],
    *,
    premium: str | None = None,
    threads: int = 1,
) -> "Comparison":
    """Compare the numbers of tokens of the same documents; differences are relative to the first tokenizer.

    Args:
        tokenizers: two or more.
        texts: documents as in :func:`count`, which no tokenizer was built from; two or more for intervals. A mapping
            from language tags to documents compares by language, too, as do files whose records have a language and
            folders named by languages.
        premium: language tag of the reference of premiums, for parallel texts. Default: no premiums.
        threads: number of threads. Default: 1.

    Returns:
        One row per tokenizer, in the given order, then one per tokenizer for each language: ``language`` (null for all
        documents), ``name``, ``pretokenization``, ``size`` (nominal; null if unknown), ``tokens``,
        ``bytes_per_token``, ``changed`` (documents that decoding does not restore), ``difference`` (tokens relative to
        the first tokenizer, minus 1), ``low`` and ``high`` (its 95 % interval over documents), ``holm`` (p-value
        corrected for all pairs), ``verdict``, ``reason`` (why it is not tested) and ``documents`` (those with text;
        copies count once). ``difference_best`` to ``reason_best`` are relative to the tokenizer with the fewest tokens.
        ``premium`` is the number of tokens of a language relative to that of the reference. ``baseline`` is the name of
        the first tokenizer, ``best()`` returns the result as a sentence, ``to_latex()`` and ``to_markdown()`` return
        tables, ``plot()`` a figure. The verdicts are those of ``tokbench compare`` and of an experiment's tables.

    Raises:
        TokbenchError: fewer than two tokenizers, an argument that is not a tokenizer, no bytes to encode, or a premium
            of texts that are not parallel.

    Examples:
        >>> counts = tokbench.count("the cat sat on the mat and the hat " * 9)
        >>> bpe, greedtok = (tokbench.build(name, counts, 262) for name in ("bpe", "greedtok"))
        >>> texts = ["the cat", "the hat", "a mat sat", "on the mat", "the hat sat on", "cat and hat"]
        >>> table = tokbench.compare([bpe, greedtok], texts)
        >>> table.baseline
        'bpe'
        >>> print(table.best())
        greedtok needs 10.8 % fewer tokens than bpe (95 % interval −42.9 % to +33.3 %; 6 documents): no significant
        difference.
    """
    from tokbench.api.comparison import comparison_of
    from tokbench.inspection.comparison.texts import compare_texts

    tokenizers = _several_tokenizers(tokenizers)
    documents, languages = tagged_texts("compare", texts)
    if not any(documents):
        raise TokbenchError("compare: the texts are empty; pass documents with text")
    names = _distinct([tokenizer.name for tokenizer in tokenizers])
    return comparison_of(compare_texts(names, tokenizers, documents, threads, languages), premium)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number after those that occur several times."""
    number: dict[str, int] = {}
    distinct = []
    for name in names:
        number[name] = number.get(name, 0) + 1
        distinct.append(f"{name} ({number[name]})" if names.count(name) > 1 else name)
    return distinct


def _check_source(construction: "Construction", source: Any) -> None:
    module, kind, made = READ[construction.source]
    if not isinstance(source, getattr(import_module(module), kind)):
        given, name = type(source).__name__, construction.name
        raise TokbenchError(f"source: '{name}' reads {module}.{kind}, not {given}; make it with {made}")


def _check_initial(construction: "Construction", source: Any, initial: Any) -> None:
    name = construction.name
    if not construction.initial:
        if initial is not None:
            raise TokbenchError(f"initial: '{name}' has no initial vocabulary; leave it out")
    elif not isinstance(initial, Vocabulary | str | Mapping | None):
        raise TokbenchError(
            f"initial {shown(initial)}: pass a tokbench.Vocabulary, the name of a construction, or a mapping with its "
            "method and options"
        )
    elif not isinstance(initial, Vocabulary) and not isinstance(source, PretokenCounts):
        raise TokbenchError(f"initial: '{name}' needs an initial vocabulary, which is built only from counts; pass one")


def _several_tokenizers(tokenizers: Any) -> list[Tokenizer]:
    if isinstance(tokenizers, Mapping):
        raise TokbenchError("compare: a mapping of tokenizers; pass its tokenizers, as in mapping.values()")
    if isinstance(tokenizers, Tokenizer | str) or not isinstance(tokenizers, Iterable):
        raise TokbenchError(f"compare: {shown(tokenizers)}; pass two or more tokenizers, as in a list")
    listed = list(tokenizers)
    for tokenizer in listed:
        tokenizer_of("compare", tokenizer)
    if len(listed) < 2:
        raise TokbenchError("compare: pass two or more tokenizers")
    return listed


def _check_scheme(tokenizer: Tokenizer, counts: PretokenCounts) -> None:
    if counts.pretokenization not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"the counts are of '{counts.pretokenization}', and the tokenizer cuts by '{tokenizer.pretokenization}'; "
            f"count with pretokenization={tokenizer.scheme.setting!r}"
        )
