"""Measuring a tokenizer that works through another library: the same rows, with a reason where there is no value."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokbench.intrinsic.encoded_text import (
    WITHOUT_PHASES,
    EncodedText,
    OnlyBytes,
    TextEncoder,
    encoded_by_language,
    together,
)
from tokbench.intrinsic.measure import ByLanguage, Families, measure_words
from tokbench.intrinsic.measurement import Measurement
from tokbench.intrinsic.usage import usage_of
from tokbench.metric import Metric, Sight, families_of
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts

if TYPE_CHECKING:
    import polars as pl


def measure_encoded(
    tokenizer: TextEncoder, documents: Iterable[tuple[str, bytes]], *, families: Families, library: str
) -> ByLanguage:
    """Measure a tokenizer on documents, each encoded once.

    Args:
        tokenizer: what encodes.
        documents: each with its language.
        families: options by family; the defaults of those that are not named.
        library: what it works through, for the reasons of rows without a value.

    Returns:
        The rows that :func:`tokbench.intrinsic.measure.measure` and
        :func:`tokbench.intrinsic.measure.measure_languages` give of any tokenizer.
    """
    texts = encoded_by_language(tokenizer, documents)
    reason = WITHOUT_PHASES.format(library)
    of_bytes = usage_of(OnlyBytes(), PretokenCounts.from_pairs([(b"a", 1)], OnlyBytes.pretokenization))

    def taken(method: Metric, text: EncodedText) -> list[Measurement]:
        options = _options(method, families)
        known = {(row.metric, row.definition): row for row in method.function(text, options)} if method.of_ids else {}
        named = method.function(of_bytes, options)
        return [known.get((row.metric, row.definition)) or _blank(row, reason) for row in named]

    of_text = families_of("text")
    rows = [("", row) for method in of_text for row in taken(method, together(texts, tokenizer))]
    if len(texts) < 2:
        return rows
    per_language = [method for method in of_text if method.per_language]
    rows += [
        (language, row) for language, text in texts.items() for method in per_language for row in taken(method, text)
    ]
    for method in families_of("languages"):
        options = _options(method, families)
        if method.of_ids:
            rows += method.function(texts, options)
        else:
            named = method.function(dict.fromkeys(texts, of_bytes), options)
            rows += [(language, _blank(row, reason)) for language, row in named]
    return rows


def words_without_values(gold: "pl.DataFrame", of: Sight, *, families: Families, library: str) -> ByLanguage:
    """The rows of a resource's words, each with the reason why it has no value."""
    named = measure_words(OnlyBytes(), gold, of, families=families)
    return [(language, _blank(row, WITHOUT_PHASES.format(library))) for language, row in named]


def _options(method: Metric, families: Families) -> Options:
    chosen: Any = families.get(method.name)
    return method.options() if chosen is None else chosen


def _blank(row: Measurement, reason: str) -> Measurement:
    return Measurement(row.metric, row.definition, None, 0, reason)
