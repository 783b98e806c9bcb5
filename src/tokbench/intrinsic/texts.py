"""Measurement of a tokenizer on documents that are read once, with the documents that it does not restore.

``tokbench measure`` and :func:`tokbench.api.measure` call this module, so that both have the same rows and losses.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tokbench.intrinsic.tokenizer import ByLanguage, measure_documents, measure_text
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages
from tokbench.pretokens.files import all_languages
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.normalization import NormalisedTexts

if TYPE_CHECKING:
    from tokbench.options import Options

Documents = Iterable[tuple[str, bytes]]
"""Language and text of each document."""
Count = Callable[[Documents], Mapping[str, PretokenCounts]]
"""Function that counts the pre-tokens of each language."""


class TextMeasures(NamedTuple):
    """Measurements of a tokenizer on documents.

    Attributes:
        rows: the measurements.
        loss: ``documents`` and ``documents_changed``, those of them that decoding does not restore, byte for byte;
            None for a tokenizer that restores every text.
    """

    rows: ByLanguage
    loss: dict[str, int] | None


def measure_read_texts(
    tokenizer: Tokenizer,
    documents: Documents,
    *,
    families: "Mapping[str, Options]",
    count: Count | None = None,
    reference: PretokenCounts | None = None,
) -> TextMeasures:
    """Measure a tokenizer on documents.

    A tokenizer that segments documents encodes each. For any other one, the pre-tokens of the documents are counted,
    after its normalization.

    Args:
        tokenizer: the tokenizer.
        documents: the documents; they are read once.
        families: options by family; families without an entry have their defaults.
        count: function that counts pre-tokens of documents. Default: in memory.
        reference: see :func:`tokbench.intrinsic.tokenizer.measure`.
    """
    if tokenizer.segments_documents:
        from tokbench.adapters.loss import LossCounter

        counter = None if tokenizer.lossless else LossCounter(tokenizer)
        encode = counter.encode_spans if counter else None
        rows = measure_documents(tokenizer, documents, families=families, encode=encode)
        return TextMeasures(rows, counter.record if counter else None)
    normalised = NormalisedTexts(documents, tokenizer.normalization) if tokenizer.normalization else None
    counted = count or (lambda texts: count_languages(texts, tokenizer.scheme))
    by_language = counted(normalised or documents)
    if normalised is not None:
        by_language = normalised.measured(by_language)
    measures = measure_counted_text(tokenizer, by_language, families=families, reference=reference)
    return measures if normalised is None else measures._replace(loss=normalised.record)


def measure_counted_text(
    tokenizer: Tokenizer,
    by_language: Mapping[str, PretokenCounts],
    *,
    families: "Mapping[str, Options]",
    reference: PretokenCounts | None = None,
) -> TextMeasures:
    """Measure a tokenizer without normalization on the pre-token counts of each language of a text.

    Args:
        tokenizer: the tokenizer.
        by_language: counts by language.
        families: options by family; families without an entry have their defaults.
        reference: see :func:`tokbench.intrinsic.tokenizer.measure`.
    """
    nominal = tokenizer.nominal_size
    of_text = all_languages(by_language)
    rows = measure_text(tokenizer, of_text, by_language, families=families, nominal_size=nominal, reference=reference)
    return TextMeasures(rows, None)
