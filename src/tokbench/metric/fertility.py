"""Fertility: tokens per word, for each meaning of "word" that can be counted from pre-tokens.

Pre-tokenization is lossless, so spaces and line feeds can be counted exactly from pre-tokens. ByteSpan's benchmark
counts ``len(line.split(" "))`` words per line: spaces plus lines. Here line feeds replace lines. That is exact if every
document ends in a line feed; otherwise it misses one word per document.
"""

import sys

import numpy as np
import regex
from numpy.typing import NDArray

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.pretokens import PretokenCounts

LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
SPACE, LINE_FEED = 0x20, 0x0A
AT_ONCE = 1 << 14
"""Number of pre-tokens in a block that is decoded at once."""
PER_SPLIT_WORD = "tokens / (spaces + line feeds)"
PER_PRETOKEN = "tokens / pre-tokens"
PER_WORD = "tokens / pre-tokens that hold a letter or a number"
IN_WORDS = "tokens of the pre-tokens that hold a letter or a number / those pre-tokens"


def words(counts: PretokenCounts) -> NDArray[np.bool_]:
    """Return bool [n], True for pre-tokens with a letter or a number. Bytes that are not UTF-8 are neither."""
    blocks = [np.zeros(0, np.bool_)]
    for first in range(0, len(counts), AT_ONCE):
        offsets = counts.offsets[first : first + AT_ONCE + 1]
        blocks.append(_words(counts.data[offsets[0] : offsets[-1]], offsets - offsets[0]))
    return np.concatenate(blocks)


def _words(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Do the same for the pre-tokens ``data[offsets[i] : offsets[i + 1]]``."""
    without = np.where(data == LINE_FEED, SPACE, data).astype(np.uint8)  # Line feeds then only end pre-tokens.
    text = np.insert(without, offsets[1:], LINE_FEED).tobytes().decode("utf-8", "replace")
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    found = np.zeros(sys.maxunicode + 1, np.bool_)
    found[codes] = True
    distinct = "".join(map(chr, np.flatnonzero(found).tolist()))
    matches = np.zeros_like(found)
    matches[[*map(ord, LETTER_OR_NUMBER.findall(distinct))]] = True
    ends = np.flatnonzero(codes == LINE_FEED)
    return np.logical_or.reduceat(matches[codes], np.concatenate([[0], ends[:-1] + 1]))


def split_words(counts: PretokenCounts) -> int:
    """Count spaces and line feeds: the words of ``line.split(" ")`` over lines that end in a line feed."""
    breaks = np.zeros(len(counts.data) + 1, np.int64)
    np.cumsum((counts.data == SPACE) | (counts.data == LINE_FEED), out=breaks[1:])
    return int(np.diff(breaks[counts.offsets]) @ counts.counts)


@metric(
    "fertility",
    per_language=True,
    of_ids=True,
    cites=("rust2021", "goriely2025"),
    better={"fertility": "lowest"},
    over_the_same=("fertility",),
    shown=(
        Shown("fertility", "words", "tokens per space-separated word", PER_SPLIT_WORD),
        Shown("fertility", "words", "tokens per pre-token", PER_PRETOKEN),
        Shown("fertility", "words", "tokens per word-like pre-token", PER_WORD),
        Shown("fertility", "words", "tokens in a word-like pre-token", IN_WORDS),
    ),
)
def fertility(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Return tokens per pre-token, per word, and per space-separated word."""
    if isinstance(usage, EncodedText):
        return [_per_split_word(usage.total, usage.breaks)]
    occurrences = usage.counts.counts
    is_word = words(usage.counts)
    word_count = int(occurrences[is_word].sum())
    word_tokens = int(usage.tokens_per_pretoken[is_word] @ occurrences[is_word])
    pretokens = usage.counts.total
    no_word = "no pre-token of the text holds a letter or a number"
    return [
        ratio("fertility", PER_PRETOKEN, usage.total, pretokens, "the text has no pre-tokens"),
        ratio("fertility", PER_WORD, usage.total, word_count, no_word),
        ratio("fertility", IN_WORDS, word_tokens, word_count, no_word),
        _per_split_word(usage.total, split_words(usage.counts)),
    ]


def _per_split_word(tokens: int, breaks: int) -> Measurement:
    return ratio("fertility", PER_SPLIT_WORD, tokens, breaks, "the text has no space or line feed")
