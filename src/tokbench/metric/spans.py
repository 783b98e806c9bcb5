"""Counts over the byte spans of tokens in documents, for tokenizers that segment documents and not pre-tokens.

Tokens that are not placed (see :class:`~tokbench.tokenizer.encoder.TokenSpans`) are left out and counted. A word is a
pre-token that contains a letter or a number, of the pre-tokenization
:attr:`~tokbench.tokenizer.tokenizer.Tokenizer.words_by`. It is measured where it occurs in its document. Its tokens are
those that cover some of its bytes; a token that covers several words counts for each. A word is left out if one of its
bytes, white space excluded, is in no placed token.

Reference: ``tokens_of_words`` in :mod:`tokbench.reference.morphology`.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.metric.characters import WIDTHS, by_width, crossing_tokens, is_utf8, longer_characters, split_characters
from tokbench.metric.pretoken_words import SPACE, Letters, words_of_pretokens

if TYPE_CHECKING:
    from tokbench.pretokenization import Pretokenization
    from tokbench.tokenizer.encoder import TokenSpans

WHITE = np.isin(np.arange(256), np.frombuffer(b" \t\n\v\f\r", np.uint8))
"""True for the bytes of white space in ASCII, bool [256]."""


class SpanCounts(NamedTuple):
    """Counts over the placed tokens of a text and over its words.

    Attributes:
        tokens: tokens, placed or not.
        placed: placed tokens. The next seven are of these.
        bytes: bytes that they cover.
        characters: characters that begin in them.
        spaced: tokens that begin with a space.
        single: tokens of one byte.
        partial: tokens of one byte of a longer character.
        broken: tokens that are not whole characters (no valid UTF-8).
        crossing: tokens of two bytes or more with bytes of two characters, one of them incomplete.
        longer_2: characters of 2 bytes in placed tokens; ``longer_3`` and ``longer_4`` are of 3 and 4 bytes.
        split_2: those of 2 bytes that are in several tokens; ``split_3`` and ``split_4`` are of 3 and 4 bytes.
        words: words that are measured.
        word_tokens: tokens of these words.
        single_words: those of these words that have one token.
        words_left_out: words that are not measured.
        letters: letters of the text. The next two are those of :class:`~tokbench.metric.pretoken_words.Letters`.
        without_blanks: letters of scripts without blanks.
        cut_marks: pre-tokens that begin with a mark.
    """

    tokens: int = 0
    placed: int = 0
    bytes: int = 0
    characters: int = 0
    spaced: int = 0
    single: int = 0
    partial: int = 0
    broken: int = 0
    crossing: int = 0
    longer_2: int = 0
    longer_3: int = 0
    longer_4: int = 0
    split_2: int = 0
    split_3: int = 0
    split_4: int = 0
    words: int = 0
    word_tokens: int = 0
    single_words: int = 0
    words_left_out: int = 0
    letters: int = 0
    without_blanks: int = 0
    cut_marks: int = 0

    def plus(self, other: "SpanCounts") -> "SpanCounts":
        """Return the sums of both."""
        return SpanCounts(*(value + other_value for value, other_value in zip(self, other, strict=True)))

    @property
    def of_letters(self) -> Letters:
        """Letters of the text, which say whether pre-tokens are its words."""
        return Letters(self.letters, self.without_blanks, self.cut_marks)


def count_spans(text: bytes, encoded: "TokenSpans", words_by: "Pretokenization") -> SpanCounts:
    """Count the tokens and words of a document.

    Args:
        text: the document.
        encoded: its tokens.
        words_by: pre-tokenization whose pre-tokens are words.
    """
    data = np.frombuffer(text, np.uint8)
    starts, ends = encoded.spans[encoded.placed].T
    # Characters that begin before each byte.
    begins = data & 0xC0 != 0x80
    begun = np.zeros(len(data) + 1, np.int64)
    np.cumsum(begins, out=begun[1:])
    single = ends - starts == 1
    # Words, and the tokens of each.
    boundaries = words_by.boundaries(text).astype(np.int64, copy=False)
    chosen, letters = words_of_pretokens(data, boundaries)
    words, tokens = _words(data, starts, ends, boundaries, chosen)
    tokens_of_words = tokens[words]
    # Characters of several bytes, by their number.
    longer = _longer(text, starts, ends)
    split = by_width(longer, split_characters(longer, starts), np.ones(len(longer), np.int64))
    return SpanCounts(
        tokens=len(encoded.ids),
        placed=len(starts),
        bytes=int((ends - starts).sum()),
        characters=int((begun[ends] - begun[starts]).sum()),
        spaced=int((data[starts] == SPACE).sum()),
        single=int(single.sum()),
        partial=int((data[starts[single]] >= 0x80).sum()),
        broken=_broken(text, begins, starts, ends),
        crossing=int(crossing_tokens(longer, starts, ends, len(data)).sum()),
        **{f"longer_{width}": total for width, (_, total) in zip(WIDTHS, split, strict=True)},
        **{f"split_{width}": number for width, (number, _) in zip(WIDTHS, split, strict=True)},
        words=len(tokens_of_words),
        word_tokens=int(tokens_of_words.sum()),
        single_words=int((tokens_of_words == 1).sum()),
        words_left_out=len(words) - len(tokens_of_words),
        **letters._asdict(),
    )


def _longer(text: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start and end of the characters of several bytes that are in placed tokens, int64 [characters, 2]."""
    spans = longer_characters(text, np.array([0, len(text)]))
    step = np.zeros(len(text) + 1, np.int8)
    step[starts] += 1
    step[ends] -= 1
    lacking = np.zeros(len(text) + 1, np.int64)
    np.cumsum(np.cumsum(step[:-1], dtype=np.int8) == 0, out=lacking[1:])
    return spans[lacking[spans[:, 0]] == lacking[spans[:, 1]]]


def _broken(text: bytes, begins: NDArray[np.bool_], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    if is_utf8(text):
        whole = np.append(begins, True)
        return int((~(whole[starts] & whole[ends])).sum())
    return sum(not is_utf8(text[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True))


def _words(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    boundaries: NDArray[np.int64],
    chosen: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return for each word of a document True if it is measured, bool [words], and its tokens, int64 [words]."""
    first, last = boundaries[:-1][chosen], boundaries[1:][chosen]
    tokens = np.searchsorted(starts, last, "left") - np.searchsorted(ends, first, "right")
    step = np.zeros(len(data) + 1, np.int8)
    step[starts] += 1
    step[ends] -= 1
    lacking = np.zeros(len(data) + 1, np.int64)
    np.cumsum((np.cumsum(step[:-1], dtype=np.int8) == 0) & ~WHITE[data], out=lacking[1:])
    return lacking[first] == lacking[last], tokens
