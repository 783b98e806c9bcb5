"""Usage of a vocabulary on a text, the input of every intrinsic metric, from pre-token counts or from documents.

Each unique pre-token is segmented once and weighted by its count, so metrics never encode text again.

Tokenizers that segment documents encode each document once. Metrics then use the frequencies of ids and the byte spans
of tokens. Metrics over pre-tokens then have no value. Byte counts are those of the original text.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.metric.measurement import Measurement, withhold
from tokbench.metric.pretoken_words import PretokenWords, words_of_counts
from tokbench.metric.spans import SpanCounts, count_spans
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import TokenList, Vocabulary

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer
    from tokbench.tokenizer.encoder import TokenSpans

BREAKS = (b" ", b"\n")
UNKNOWN_VOCABULARY = "works through {}, and tokens of other libraries are not compared with vocabularies built here"
"""Reason why a tokenizer that runs through a library is not compared with a vocabulary."""
UNKNOWN_PRETOKENS = "it is defined over pre-tokens, and those of {} are not known"
CROSSED_PRETOKENS = "it is defined over pre-tokens, and tokens of this tokenizer may cross them"
UNKNOWN_TOKENS = "works through {}, which does not report the bytes of its tokens"
NOT_PLACED = "works through {}, and no token's bytes in the text are known"
NO_BYTES = (
    "is left out, because it has no bytes of the text",
    "are left out, because they have no bytes of the text",
)
CHANGED = (
    "is left out, because tokens change its text",
    "are left out, because tokens change their text",
)
UNKNOWN_SIZE = "vocabulary size not known; pass size to tokbench.wrap"
EncodeSpans = Callable[[bytes], "TokenSpans"]
IDS_AT_ONCE = 1 << 20
"""Number of ids that are counted at once."""


class CountSegmenter(Protocol):
    """Required methods of a tokenizer: its vocabulary, and segmentation of unique pre-tokens."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return concatenated token ids, int32 [tokens], and the start of each pre-token's ids, int64 [n + 1]."""
        ...


@dataclass(frozen=True, eq=False)
class Usage:
    """Segmented pre-tokens of a text.

    Attributes:
        vocabulary: the tokens.
        counts: the n unique pre-tokens of the text and their counts.
        ids: int32 [tokens], concatenated segmentations of the unique pre-tokens.
        bounds: int64 [n + 1], start of each pre-token's ids.
        frequencies: int64 [len(vocabulary)], occurrences of each token in the text.
        nominal_size: requested vocabulary size; a vocabulary may have fewer tokens.
        reference: pre-tokens of another text, whose words are looked up in the vocabulary (default: None).
    """

    vocabulary: Vocabulary
    counts: PretokenCounts
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    nominal_size: int
    reference: PretokenCounts | None = None

    @property
    def tokens_per_pretoken(self) -> NDArray[np.int64]:
        """Tokens of each unique pre-token, int64 [n]."""
        return np.diff(self.bounds)

    @property
    def total_bytes(self) -> int:
        """Bytes of the text, before normalization."""
        return self.counts.total_bytes if self.counts.text_bytes is None else self.counts.text_bytes

    @property
    def total(self) -> int:
        """Tokens of the text."""
        return int(self.frequencies.sum())

    @cached_property
    def words(self) -> PretokenWords:
        """Words among the pre-tokens, and the letters that say whether pre-tokens are words."""
        return words_of_counts(self.counts)


def usage_of(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    nominal_size: int | None = None,
    reference: PretokenCounts | None = None,
) -> Usage:
    """Segment the pre-tokens of a text once and count the tokens.

    Args:
        tokenizer: tokenizer or any other segmenter of pre-tokens.
        counts: pre-tokens of the text from the tokenizer's pre-tokenizer.
        nominal_size: requested vocabulary size (default: None, the number of tokens).
        reference: pre-tokens of another text, for metrics that look up its words (default: None).

    Raises:
        TokbenchError: the segmentation does not match the counts.
    """
    ids, bounds = tokenizer.segment(counts)
    if len(bounds) != len(counts) + 1 or int(bounds[-1]) != len(ids):
        raise TokbenchError(
            f"segmentation of {len(counts)} pre-tokens has {len(bounds)} bounds and {len(ids)} ids; "
            "bounds must have one entry more than there are pre-tokens and end at the number of ids"
        )
    vocabulary = tokenizer.vocabulary
    return Usage(
        vocabulary,
        counts,
        ids,
        bounds,
        token_frequencies(ids, bounds, counts.counts, len(vocabulary)),
        len(vocabulary) if nominal_size is None else nominal_size,
        reference,
    )


def token_frequencies(
    ids: NDArray[np.int32], bounds: NDArray[np.int64], counts: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Count occurrences of each token; every id counts as often as its pre-token occurs.

    Args:
        ids: int32 [tokens], concatenated segmentations.
        bounds: int64 [n + 1], start of each pre-token's ids.
        counts: int64 [n], occurrences of each pre-token.
        size: number of tokens of the vocabulary.

    Returns:
        int64 [size]. Sums are of integers and remain exact beyond 2^53.
    """
    frequencies = np.zeros(size, np.int64)
    np.add.at(frequencies, ids, np.repeat(counts, np.diff(bounds)))
    return frequencies


def no_pretokens(tokenizer: "Tokenizer") -> str:
    """Return the reason why a tokenizer that segments documents has no value of metrics over pre-tokens."""
    library = tokenizer.library_name
    return UNKNOWN_PRETOKENS.format(library) if library else CROSSED_PRETOKENS


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """Frequencies of ids in documents, and counts over the byte spans of tokens.

    Attributes:
        frequencies: int64 [ids], occurrences of each id.
        nominal_size: requested vocabulary size, or number of tokens that text can produce; None if not known.
        size: number of tokens of the vocabulary; None if not known.
        total_bytes: bytes of the original text.
        breaks: number of spaces and line feeds in the text.
        spans: counts over byte spans.
        vocabulary: tokens by their bytes; None if they are not known.
        unknown: id of the unknown token; None if there is none.
        library: library that the tokenizer runs through; empty for Tokbench's own kernels.
        words_by: label of the pre-tokenization whose pre-tokens are words.
    """

    frequencies: NDArray[np.int64]
    nominal_size: int | None
    size: int | None
    total_bytes: int
    breaks: int
    spans: SpanCounts
    vocabulary: Vocabulary | TokenList | None
    unknown: int | None
    library: str
    words_by: str

    @property
    def total(self) -> int:
        """Tokens of the text."""
        return int(self.frequencies.sum())

    @property
    def used(self) -> NDArray[np.int64]:
        """Occurrences of the ids that the text has, without the unknown token, int64 [used]."""
        chosen = self.frequencies > 0
        if self.unknown is not None and self.unknown < len(chosen):
            chosen[self.unknown] = False
        return self.frequencies[chosen]

    @property
    def token_frequencies(self) -> NDArray[np.int64]:
        """Occurrences of each token of :attr:`vocabulary`, int64 [tokens]."""
        ids = None if self.vocabulary is None else self.vocabulary.ids
        return self.frequencies if ids is None else self.frequencies[ids]

    def by_tokens(self, rows: list[Measurement]) -> list[Measurement]:
        """Return measurements over placed tokens; those with a value have the tokens left out as their reason."""
        if self.library and self.spans.tokens and not self.spans.placed:
            return withhold(rows, NOT_PLACED.format(self.library))
        return _add_notes(rows, self._left_out)

    def by_words(self, rows: list[Measurement]) -> list[Measurement]:
        """Return measurements over words; those with a value have their kind, and the words left out, as reason.

        Text whose pre-tokens are not words has no value, see :mod:`tokbench.metric.pretoken_words`.
        """
        counts = self.spans
        if reason := counts.of_letters.no_pretokens:
            return withhold(rows, reason)
        words = counts.words + counts.words_left_out
        left_out = [words_left_out(counts.words_left_out, words)] * bool(counts.words_left_out)
        if left_out and not counts.words:
            reason = left_out[0] if counts.placed else NOT_PLACED.format(self.library)
            return withhold(rows, reason)
        return _add_notes(rows, [*self._kind_of_words, *left_out])

    def by_all_words(self, rows: list[Measurement]) -> list[Measurement]:
        """Return measurements that divide by all words; those with a value have their kind as reason.

        Text whose pre-tokens are not words has no value.
        """
        return _add_notes(withhold(rows, self.spans.of_letters.no_pretokens), self._kind_of_words)

    @property
    def _kind_of_words(self) -> list[str]:
        return [f"words are pre-tokens of {self.words_by}"] * bool(self.library)

    @property
    def _left_out(self) -> list[str]:
        tokens, lost = self.spans.tokens - self.spans.placed, self.total_bytes - self.spans.bytes
        of_tokens = _part(tokens, self.spans.tokens, "tokens", NO_BYTES)
        of_bytes = _part(lost, self.total_bytes, "bytes of the text", ("is in no token", "are in no token"))
        return [note for note, number in ((of_tokens, tokens), (of_bytes, lost)) if number]

    def __add__(self, other: "EncodedText") -> "EncodedText":
        ids = max(len(self.frequencies), len(other.frequencies))
        padded = (np.pad(part.frequencies, (0, ids - len(part.frequencies))) for part in (self, other))
        return replace(
            self,
            frequencies=sum(padded, np.zeros(ids, np.int64)),
            total_bytes=self.total_bytes + other.total_bytes,
            breaks=self.breaks + other.breaks,
            spans=self.spans.plus(other.spans),
        )


def words_left_out(left_out: int, total: int) -> str:
    """Return a sentence on the number of words that are not measured."""
    return _part(left_out, total, "words", CHANGED)


def _part(part: int, total: int, items: str, verbs: tuple[str, str]) -> str:
    """Return a sentence on a part of some items, with the verb of one item or of several."""
    return f"{part:,} of {total:,} {items} {verbs[part != 1]}"


def _add_notes(rows: list[Measurement], notes: Sequence[str]) -> list[Measurement]:
    if not notes:
        return rows
    return [row if row.value is None else replace(row, reason="; ".join(notes)) for row in rows]


def encode_by_language(
    tokenizer: "Tokenizer", documents: Iterable[tuple[str, bytes]], encode: EncodeSpans | None = None
) -> dict[str, EncodedText]:
    """Encode documents one by one and add them by language; languages are in order of their tags.

    Args:
        tokenizer: the tokenizer.
        documents: language and text of each document.
        encode: function that encodes a document (default: that of the tokenizer).
    """
    encode = tokenizer.encode_spans if encode is None else encode
    words_by = tokenizer.words_by
    sums: dict[str, _Sums] = {}
    for language, text in documents:
        encoded = encode(text)
        part = sums.setdefault(language, _Sums())
        part.add_ids(encoded.ids)
        part.total_bytes += len(text)
        part.breaks += sum(map(text.count, BREAKS))
        part.spans = part.spans.plus(count_spans(text, encoded, words_by))
    none = empty_text(tokenizer)
    counts_by_tag = {
        language: none
        + replace(
            none,
            frequencies=part.frequencies(),
            total_bytes=part.total_bytes,
            breaks=part.breaks,
            spans=part.spans,
        )
        for language, part in sums.items()
    }
    return dict(sorted(by_tag(counts_by_tag, operator.add).items()))


class _Sums:
    """Sums over the documents of a language."""

    def __init__(self) -> None:
        self.total_bytes = self.breaks = self._waiting = 0
        self.spans = SpanCounts()
        self._ids: list[NDArray[np.int32]] = []
        self._counted = np.zeros(0, np.int64)

    def add_ids(self, ids: NDArray[np.int32]) -> None:
        self._ids.append(ids)
        self._waiting += len(ids)
        if self._waiting >= IDS_AT_ONCE:
            self.frequencies()

    def frequencies(self) -> NDArray[np.int64]:
        """Return occurrences of each id so far, int64 [largest id + 1]."""
        occurrences = np.bincount(np.concatenate([np.zeros(0, np.int32), *self._ids]), minlength=len(self._counted))
        occurrences[: len(self._counted)] += self._counted
        self._ids, self._waiting, self._counted = [], 0, occurrences.astype(np.int64, copy=False)
        return self._counted


def empty_text(tokenizer: "Tokenizer") -> EncodedText:
    """Return the text without documents."""
    return EncodedText(
        frequencies=np.zeros(tokenizer.id_limit, np.int64),
        nominal_size=tokenizer.nominal_size or None,
        size=len(tokenizer) if tokenizer.nominal_size else None,
        total_bytes=0,
        breaks=0,
        spans=SpanCounts(),
        vocabulary=tokenizer.listed,
        unknown=tokenizer.unknown_id,
        library=tokenizer.library_name,
        words_by=tokenizer.words_by.label,
    )


class OnlyBytes:
    """Tokenizer of the 256 bytes; its measurements list the names and definitions of every metric."""

    vocabulary = Vocabulary(tuple(bytes([byte]) for byte in range(256)))
    pretokenization = "none"

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return every byte as a token."""
        return counts.data.astype(np.int32), np.asarray(counts.offsets, np.int64)


def merge_languages(texts: Mapping[str, EncodedText], tokenizer: "Tokenizer") -> EncodedText:
    """Return the texts of all languages as one."""
    return sum(texts.values(), empty_text(tokenizer))
