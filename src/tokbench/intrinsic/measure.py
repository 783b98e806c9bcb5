"""Measuring: every metric that sees a text, a resource or a trained model, taken of one tokenizer."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokbench.intrinsic.measurement import Measurement
from tokbench.intrinsic.usage import CountSegmenter, usage_of
from tokbench.intrinsic.words import Words, WordSegmenter, words_of
from tokbench.metric import Sight, families_of, metrics
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts

if TYPE_CHECKING:
    import polars as pl

    from tokbench.intrinsic.embeddings import Embeddings

Families = Mapping[str, Options]
ByLanguage = list[tuple[str, Measurement]]
"""Measurements, each with its language; that of the whole text is empty."""


def measure(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    *,
    families: Families | None = None,
    nominal_size: int | None = None,
) -> list[Measurement]:
    """Measure a tokenizer on the pre-token counts of a text, segmenting each unique pre-token once.

    Args:
        tokenizer: anything with ``segment(counts)`` and ``vocabulary``.
        counts: the pre-tokens of the text, cut by the tokenizer's own pre-tokenization.
        families: the metrics to take, with the options of each; every registered one of a text with its defaults when
            None.
        nominal_size: the vocabulary size that was asked for; the number of tokens when None.

    Returns:
        Rows in order of family name, and in each family's own order.

    Raises:
        TokbenchError: no such metric, or a segmentation that does not fit the counts.
    """
    if families is None:
        families = {method.name: method.options() for method in families_of("text")}
    methods = [(metrics[name], families[name]) for name in sorted(families)]
    usage = usage_of(tokenizer, counts, nominal_size)
    return [row for method, options in methods for row in method.function(usage, options)]


def measure_text(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    by_language: Mapping[str, PretokenCounts],
    *,
    families: Families,
    nominal_size: int | None = None,
) -> ByLanguage:
    """Measure a tokenizer on a text and on each of its languages.

    Args:
        tokenizer: as for :func:`measure`.
        counts: the pre-tokens of the text.
        by_language: those of each language.
        families: options by family; the defaults of those that are not named.
        nominal_size: as for :func:`measure`.
    """
    chosen = {method.name: families.get(method.name, method.options()) for method in families_of("text")}
    rows: ByLanguage = [("", row) for row in measure(tokenizer, counts, families=chosen, nominal_size=nominal_size)]
    return rows + measure_languages(tokenizer, by_language, families=families, nominal_size=nominal_size)


def measure_languages(
    tokenizer: CountSegmenter,
    counts: Mapping[str, PretokenCounts],
    *,
    families: Families,
    nominal_size: int | None = None,
) -> ByLanguage:
    """Measure a tokenizer on each language of a text, and on what only all of them together tell.

    Args:
        tokenizer: as for :func:`measure`.
        counts: the pre-tokens of each language.
        families: options by family; the defaults of those that are not named.
        nominal_size: as for :func:`measure`.

    Returns:
        Rows with their languages: of the families registered with ``per_language``, language by language, then of those
        that see all languages; none for a single language.
    """
    if len(counts) < 2:
        return []
    usages = {language: usage_of(tokenizer, part, nominal_size) for language, part in counts.items()}
    chosen = [(method, families.get(method.name, method.options())) for method in families_of("text", "languages")]
    rows = [
        (language, row)
        for language, usage in usages.items()
        for method, options in chosen
        if method.of == "text" and method.per_language
        for row in method.function(usage, options)
    ]
    for method, options in chosen:
        if method.of == "languages":
            rows += method.function(usages, options)
    return rows


def measure_words(tokenizer: WordSegmenter, gold: "pl.DataFrame", of: Sight, *, families: Families) -> ByLanguage:
    """Measure a tokenizer on the words of a resource.

    Args:
        tokenizer: anything with ``segment(counts)``, ``vocabulary`` and ``pretokenization``.
        gold: the resource's table, see :mod:`tokbench.intrinsic.gold`.
        of: its kind of gold data.
        families: options by family; the defaults of those that are not named.

    Returns:
        Rows with their languages: of all words, then, where there are several languages, of each.
    """
    return measure_cut_words(words_of(tokenizer, gold), of, families=families)


def measure_cut_words(words: Words, of: Sight, *, families: Families) -> ByLanguage:
    """The same of words that have been cut already."""
    gold = words.gold
    languages = gold["language"].unique().sort().to_list()
    parts = [("", words)]
    if len(languages) > 1:
        parts += [(language, words.only((gold["language"] == language).to_numpy())) for language in languages]
    return [
        (language, row)
        for language, part in parts
        for method in families_of(of)
        for row in method.function(part, families.get(method.name, method.options()))
    ]


def measure_embeddings(embeddings: "Embeddings", *, families: Families) -> list[Measurement]:
    """Measure the input embeddings of a trained model; families that are not named have their defaults."""
    return [
        row
        for method in families_of("embeddings")
        for row in method.function(embeddings, families.get(method.name, method.options()))
    ]


def record_of(
    name: str,
    size: int | str,
    rows: ByLanguage,
    *,
    variant: str | None = None,
    corpus: str = "",
    loss: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Measurements of a tokenizer as JSON has them.

    Args:
        name: the tokenizer's name.
        size: its size in the tables.
        rows: the measurements.
        variant: its name in the tables; its own when None.
        corpus: what the text is of.
        loss: what is lost of the text, for a tokenizer that need not give all of it back.
    """
    return {
        "variant": variant or name,
        "size": size,
        "corpus": corpus,
        **({} if loss is None else {"loss": loss}),
        "measurements": [{"language": language, **asdict(row)} for language, row in rows],
    }
