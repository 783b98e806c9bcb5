"""Measurement of a tokenizer with all metrics of texts, resources and trained models.

Tokenizers that segment documents get the same rows, with a reason where there is no value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from tokbench.io.identity import made_from
from tokbench.metric import Metric, Sight, families_of, metrics
from tokbench.metric.document_words import LeftOutWords
from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import (
    UNKNOWN_TOKENS,
    CountSegmenter,
    EncodedText,
    EncodeSpans,
    OnlyBytes,
    encode_by_language,
    merge_languages,
    no_pretokens,
    usage_of,
)
from tokbench.metric.words import Words, WordSegmenter, words_of
from tokbench.pretokens import PretokenCounts

if TYPE_CHECKING:
    import polars as pl

    from tokbench.metric.embeddings import Embeddings
    from tokbench.options import Options
    from tokbench.tokenizer import Tokenizer

OVER_PRETOKENS = re.compile("pre-token")
"""Definitions over pre-tokens."""

Families = Mapping[str, "Options | None"]
"""Options by family of metrics; None for a family without options."""
ByLanguage = list[tuple[str, Measurement]]
"""Measurements with their languages; the language is empty for the full text."""


def measure(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    *,
    families: Families | None = None,
    nominal_size: int | None = None,
    reference: PretokenCounts | None = None,
) -> list[Measurement]:
    """Measure a tokenizer on the pre-token counts of a text, segmenting each unique pre-token once.

    Args:
        tokenizer: any object with ``segment(counts)`` and ``vocabulary``.
        counts: pre-tokens of the text from the tokenizer's pre-tokenizer.
        families: options by family of metrics (default: None, every registered family of texts with its defaults).
        nominal_size: requested vocabulary size (default: None, the number of tokens).
        reference: pre-tokens of another text whose words are looked up, see ``words_of`` (default: None).

    Returns:
        Rows in order of family name, and in each family's order.

    Raises:
        TokbenchError: a metric is unknown, or the segmentation does not match the counts.
    """
    if families is None:
        families = {method.name: method.defaults() for method in families_of("text")}
    methods = [(metrics[name], families[name]) for name in sorted(families)]
    usage = usage_of(tokenizer, counts, nominal_size, reference)
    return [row for method, options in methods for row in method.function(usage, options)]


def measure_text(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    by_language: Mapping[str, PretokenCounts],
    *,
    families: Families,
    nominal_size: int | None = None,
    reference: PretokenCounts | None = None,
) -> ByLanguage:
    """Measure a tokenizer on a text and on each of its languages.

    Args:
        tokenizer: see :func:`measure`.
        counts: pre-tokens of the text.
        by_language: pre-tokens of each language.
        families: options by family; families without an entry have their defaults.
        nominal_size: see :func:`measure`.
        reference: see :func:`measure`.
    """
    chosen = {method.name: families.get(method.name, method.defaults()) for method in families_of("text")}
    of_text = measure(tokenizer, counts, families=chosen, nominal_size=nominal_size, reference=reference)
    rows: ByLanguage = [("", row) for row in of_text]
    return rows + measure_languages(tokenizer, by_language, families=families, nominal_size=nominal_size)


def measure_languages(
    tokenizer: CountSegmenter,
    counts: Mapping[str, PretokenCounts],
    *,
    families: Families,
    nominal_size: int | None = None,
) -> ByLanguage:
    """Measure a tokenizer on each language of a text, and on all languages together.

    Args:
        tokenizer: see :func:`measure`.
        counts: pre-tokens of each language.
        families: options by family; families without an entry have their defaults.
        nominal_size: see :func:`measure`.

    Returns:
        Rows with their languages: first families with ``per_language``, by language, then families of all languages.
        Empty for a single language.
    """
    if len(counts) < 2:
        return []
    usages = {language: usage_of(tokenizer, part, nominal_size) for language, part in counts.items()}
    chosen = [(method, families.get(method.name, method.defaults())) for method in families_of("text", "languages")]
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
        tokenizer: any object with ``segment(counts)``, ``vocabulary`` and ``pretokenization``.
        gold: table of the resource, see :mod:`tokbench.metric.words`.
        of: kind of gold data.
        families: options by family; families without an entry have their defaults.

    Returns:
        Rows with their languages: for all words, then for each language if there are several.
    """
    return measure_cut_words(words_of(tokenizer, gold), of, families=families)


def measure_cut_words(
    words: Words, of: Sight, *, families: Families, languages: Sequence[str] | None = None
) -> ByLanguage:
    """Measure words that are already segmented; see :func:`measure_words`.

    ``languages`` are the languages of the resource (default: those of the words).
    """
    gold = words.gold
    languages = gold["language"].unique().sort().to_list() if languages is None else languages
    parts = [("", words)]
    if len(languages) > 1:
        parts += [(language, words.filter_words((gold["language"] == language).to_numpy())) for language in languages]
    return [
        (language, row)
        for language, part in parts
        for method in families_of(of)
        for row in method.function(part, families.get(method.name, method.defaults()))
    ]


def measure_embeddings(embeddings: "Embeddings", *, families: Families) -> list[Measurement]:
    """Measure the input embeddings of a trained model; families without an entry have their defaults."""
    return [
        row
        for method in families_of("embeddings")
        for row in method.function(embeddings, families.get(method.name, method.defaults()))
    ]


def record_of(
    tokenizer: "Tokenizer",
    rows: ByLanguage,
    *,
    variant: str | None = None,
    corpus: str = "",
    loss: Mapping[str, int] | None = None,
    **makers: str,
) -> dict[str, Any]:
    """Return measurements of a tokenizer as a JSON object.

    Args:
        tokenizer: the tokenizer.
        rows: the measurements.
        variant: name in the tables (default: that of the tokenizer).
        corpus: name of the corpus (default: empty).
        loss: counts of lost text, for a tokenizer that may be lossy (default: None).
        makers: digests of the text or the model, see :mod:`tokbench.io.identity`.
    """
    return {
        "variant": variant or tokenizer.name,
        "size": tokenizer.nominal_size,
        "corpus": corpus,
        "pretokenization": tokenizer.pretokenizer_label,
        **made_from(tokenizer=tokenizer.digest, **makers),
        **({} if loss is None else {"loss": loss}),
        "measurements": [{"language": language, **asdict(row)} for language, row in rows],
    }


def measure_documents(
    tokenizer: "Tokenizer",
    documents: Iterable[tuple[str, bytes]],
    *,
    families: Families,
    encode: EncodeSpans | None = None,
) -> ByLanguage:
    """Measure a tokenizer on documents, each encoded once, by the frequencies of ids and the byte spans of tokens.

    Args:
        tokenizer: the tokenizer.
        documents: language and text of each document.
        families: options by family; families without an entry have their defaults.
        encode: function that encodes a document (default: that of the tokenizer).

    Returns:
        The same rows as :func:`measure` and :func:`measure_languages`. Those that are defined over pre-tokens have no
        value. Values that leave out tokens or words have a reason that says so.
    """
    texts = encode_by_language(tokenizer, documents, encode)
    # Measurements of one byte name the rows that this tokenizer cannot have.
    of_bytes = usage_of(OnlyBytes(), PretokenCounts.from_pairs([(b"a", 1)], OnlyBytes.pretokenization))
    no_pretokens_reason = no_pretokens(tokenizer)
    unlisted = UNKNOWN_TOKENS.format(tokenizer.library_name)

    def family_rows(method: Metric, text: EncodedText) -> list[Measurement]:
        options = _options(method, families)
        known = {(row.metric, row.definition): row for row in method.function(text, options)} if method.of_ids else {}
        named = method.function(of_bytes, options)
        lacks_tokens = text.vocabulary is None and method.of_ids
        return [
            known.get((row.metric, row.definition))
            or _blank(
                row, unlisted if lacks_tokens and not OVER_PRETOKENS.search(row.definition) else no_pretokens_reason
            )
            for row in named
        ]

    # All languages together, then each language.
    of_text = families_of("text")
    rows = [("", row) for method in of_text for row in family_rows(method, merge_languages(texts, tokenizer))]
    if len(texts) < 2:
        return rows
    per_language = [method for method in of_text if method.per_language]
    rows += [
        (language, row)
        for language, text in texts.items()
        for method in per_language
        for row in family_rows(method, text)
    ]
    # Metrics that compare languages.
    for method in families_of("languages"):
        options = _options(method, families)
        if method.of_ids:
            rows += method.function(texts, options)
        else:
            named = method.function(dict.fromkeys(texts, of_bytes), options)
            rows += [(language, _blank(row, no_pretokens_reason)) for language, row in named]
    return rows


def measure_document_words(words: Words, left_out: LeftOutWords, of: Sight, *, families: Families) -> ByLanguage:
    """Measure the words of :func:`~tokbench.metric.document_words.document_words`.

    Args:
        words: the words that tokens spell.
        left_out: numbers of the others; values have them as their reason.
        of: kind of gold data.
        families: options by family; families without an entry have their defaults.

    Returns:
        The same rows as :func:`measure_words`.
    """
    rows = measure_cut_words(words, of, families=families, languages=sorted(left_out.words))
    if not len(words):
        return [(language, _blank(row, left_out.note(language))) for language, row in rows]
    return [
        (language, row if row.value is None else replace(row, reason=left_out.note(language) or None))
        for language, row in rows
    ]


def _options(method: Metric, families: Families) -> Any:
    chosen: Any = families.get(method.name)
    return method.defaults() if chosen is None else chosen


def _blank(row: Measurement, reason: str) -> Measurement:
    return Measurement(row.metric, row.definition, None, 0, reason)
