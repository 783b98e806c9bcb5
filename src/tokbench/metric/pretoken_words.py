"""Words of a text from its pre-tokens: the one rule that says where a pre-token is a word.

A word is a pre-token with a letter or a number. That holds where the script writes blanks and pre-tokens keep a letter
and its marks together. It does not hold in two kinds of text:

- Chinese, Japanese, Thai and others write no blanks between words. Pre-tokens are then parts of sentences, and spaces
  and line feeds separate no words either.
- ``gpt2`` and other pre-tokenizers cut a letter from the combining marks after it (Unicode category M). Hindi,
  pointed Hebrew and decomposed French (NFD) then fall into crumbs: one word of Hindi into three or four pre-tokens.

Letters decide, not the tag of the language. Measures of words have no value, and a reason, if one letter in fifty is of
a script without blanks, or is cut from its mark. Below that, the number of words is wrong by about one in ten at most,
as words have about five letters. Arabic news, for example, has a mark on one letter in a hundred.
"""

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels import unicode_classes
from tokbench.pretokens import PretokenCounts

WITHOUT_BLANKS = "".join(
    rf"\p{{{script}}}"
    for script in (
        *("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Javanese", "Balinese", "Yi"),
        *("Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"),
    )
)
"""Scripts without blanks between words, as the inside of a character class of a regular expression."""
ONE_IN = 50
"""A text has no words by its pre-tokens if 1 letter in this many is of a script without blanks or cut from its mark."""
UNSPACED = f"at least 1 letter in {ONE_IN} is of a script without blanks between words"
NO_BLANKS = f"{UNSPACED} (segmented_words measures its words)"
CUT_MARKS = (
    f"pre-tokens are not words, because they cut at least 1 letter in {ONE_IN} from its mark (tokens / (spaces + line "
    "feeds) and segmented_words measure words)"
)
LETTER, WITHOUT_BLANK, NUMBER, MARK = 1, 2, 4, 8
"""Kinds of characters, which may be added."""
KINDS = {
    "LETTERS": LETTER,
    "LETTERS_WITHOUT_BLANKS": WITHOUT_BLANK,
    "DIGITS": NUMBER,
    "NUMERALS": NUMBER,
    "MARKS": MARK,
}
"""Kind by class of :mod:`tokbench.kernels.unicode_classes`."""
LINE_FEED, SPACE = 0x0A, 0x20
AT_ONCE = 1 << 14
"""Number of pre-tokens in a block that is decoded at once."""


class Letters(NamedTuple):
    """Letters of a text, which decide its words.

    Attributes:
        letters: letters (category L).
        without_blanks: those of scripts without blanks between words.
        cut_marks: pre-tokens that begin with a combining mark.
    """

    letters: int
    without_blanks: int
    cut_marks: int

    @property
    def no_blanks(self) -> str:
        """Reason why blanks do not separate the words of the text; empty if they do."""
        return NO_BLANKS if self._is_frequent(self.without_blanks) else ""

    @property
    def no_pretokens(self) -> str:
        """Reason why pre-tokens are not the words of the text; empty if they are."""
        return self.no_blanks or (CUT_MARKS if self._is_frequent(self.cut_marks) else "")

    def plus(self, other: "Letters") -> "Letters":
        """Return the sums of both."""
        return Letters(*(value + other_value for value, other_value in zip(self, other, strict=True)))

    def _is_frequent(self, number: int) -> bool:
        return self.letters > 0 and ONE_IN * number >= self.letters


NO_LETTERS = Letters(0, 0, 0)


class PretokenWords(NamedTuple):
    """Pre-tokens that may be words, and the letters that say whether they are.

    Attributes:
        chosen: bool [n], True for pre-tokens with a letter or a number. Bytes that are not UTF-8 are neither.
        letters: letters of the text.
    """

    chosen: NDArray[np.bool_]
    letters: Letters


def words_of_counts(counts: PretokenCounts) -> PretokenWords:
    """Return the words of counted pre-tokens; letters are counted as often as their pre-token occurs."""
    return words_of_pretokens(counts.data, counts.offsets, counts.counts)


def words_of_pretokens(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], occurrences: NDArray[np.int64] | None = None
) -> PretokenWords:
    """Return the words among pre-tokens.

    Args:
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        occurrences: int64 [n], occurrences of each pre-token (default: None, one of each).
    """
    chosen = [np.zeros(0, np.bool_)]
    sums = np.zeros(3, np.int64)
    for first in range(0, len(offsets) - 1, AT_ONCE):
        block = offsets[first : first + AT_ONCE + 1]
        is_word, *columns = _block(data[block[0] : block[-1]], block - block[0])
        chosen.append(is_word)
        sums += _weight(columns, None if occurrences is None else occurrences[first : first + AT_ONCE])
    return PretokenWords(np.concatenate(chosen), Letters(*sums.tolist()))


def _weight(columns: Sequence[NDArray[np.int64]], weights: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the sum of each column, each row as often as its weight, int64 [columns]."""
    table = np.stack(columns)
    return table.sum(axis=1) if weights is None else table @ weights


def _block(
    data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], *tuple[NDArray[np.int64], ...]]:
    """Return by pre-token: letter or number in it; letters; letters without blanks; 1 if a mark begins it."""
    spaced = np.where(data == LINE_FEED, SPACE, data).astype(np.uint8)  # Line feeds then only end pre-tokens.
    text = np.insert(spaced, offsets[1:], LINE_FEED).tobytes().decode("utf-8", "replace")
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    kinds = _kinds()[codes]
    ends = np.flatnonzero(codes == LINE_FEED)
    starts = np.concatenate([[0], ends[:-1] + 1])
    is_word = np.logical_or.reduceat(kinds & (LETTER | NUMBER) > 0, starts)
    letters, without_blanks = (
        np.add.reduceat(kinds & kind > 0, starts, dtype=np.int64) for kind in (LETTER, WITHOUT_BLANK)
    )
    return is_word, letters, without_blanks, (kinds[starts] & MARK > 0).astype(np.int64)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return the kinds of each code point, uint8 [code points]."""
    kinds = np.zeros(sys.maxunicode + 1, np.uint8)
    for name, kind in KINDS.items():
        for span in getattr(unicode_classes, name).split():
            first, _, last = span.partition("-")
            kinds[int(first, 16) : int(last or first, 16) + 1] |= kind
    return kinds
