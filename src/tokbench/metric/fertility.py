"""Fertility: tokens per word, and words of one token, for each meaning of "word" that can be counted from pre-tokens.

Pre-tokens are not the words of every text: :mod:`tokbench.metric.pretoken_words` says where these measures have a
value, by pre-tokens and by spaces.

Pre-tokenization is lossless, so spaces and line feeds can be counted exactly from pre-tokens. ByteSpan's benchmark
counts ``len(line.split(" "))`` words per line: spaces plus lines. Here line feeds replace lines. That is exact if every
document ends in a line feed; otherwise it misses one word per document.

The share of words that are one token is 1 minus the "proportion of continued words" of Rust et al. 2021. If a tokenizer
segments documents, tokens may cover several words. A word is then one token if no token boundary is inside it.
"""

import numpy as np

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio, withhold
from tokbench.metric.pretoken_words import LINE_FEED, SPACE, Letters
from tokbench.metric.usage import EncodedText, Usage
from tokbench.pretokens import PretokenCounts

PER_SPLIT_WORD = "tokens / (spaces + line feeds)"
PER_PRETOKEN = "tokens / pre-tokens"
PER_WORD = "tokens / pre-tokens that hold a letter or a number"
IN_WORDS = "tokens of the pre-tokens that hold a letter or a number / those pre-tokens"
SINGLE = "pre-tokens that hold a letter or a number and are in one token / those pre-tokens"
NO_WORD = "no pre-token of the text holds a letter or a number"


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
    better={"fertility": "lowest", "single_token_word_share": "highest"},
    over_the_same=("fertility", "single_token_word_share"),
    shown=(
        Shown("fertility", "words", "tokens per space-separated word", PER_SPLIT_WORD),
        Shown("fertility", "words", "tokens per pre-token", PER_PRETOKEN),
        Shown("fertility", "words", "tokens per word-like pre-token", PER_WORD),
        Shown("fertility", "words", "tokens in a word-like pre-token", IN_WORDS),
        Shown("single_token_word_share", "words", "word-like pre-tokens in one token"),
    ),
)
def fertility(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Return tokens per pre-token, per word and per space-separated word, and the share of words in one token."""
    if isinstance(usage, EncodedText):
        return _by_spans(usage)
    occurrences = usage.counts.counts
    is_word, letters = usage.words
    word_count = int(occurrences[is_word].sum())
    tokens = usage.tokens_per_pretoken
    word_tokens = int(tokens[is_word] @ occurrences[is_word])
    pretokens = usage.counts.total
    single = int(occurrences[is_word & (tokens == 1)].sum())
    *means, share = withhold(
        [
            ratio("fertility", PER_PRETOKEN, usage.total, pretokens, "the text has no pre-tokens"),
            ratio("fertility", PER_WORD, usage.total, word_count, NO_WORD),
            ratio("fertility", IN_WORDS, word_tokens, word_count, NO_WORD),
            ratio("single_token_word_share", SINGLE, single, word_count, NO_WORD),
        ],
        letters.no_pretokens,
    )
    return [*means, _per_split_word(usage.total, split_words(usage.counts), letters), share]


def _by_spans(text: EncodedText) -> list[Measurement]:
    counts = text.spans
    words = counts.words + counts.words_left_out
    rows = [
        *text.by_all_words([ratio("fertility", PER_WORD, text.total, words, NO_WORD)]),
        *text.by_words(
            [
                ratio("fertility", IN_WORDS, counts.word_tokens, counts.words, NO_WORD),
                ratio("single_token_word_share", SINGLE, counts.single_words, counts.words, NO_WORD),
            ]
        ),
    ]
    return [*rows, _per_split_word(text.total, text.breaks, counts.of_letters)]


def _per_split_word(tokens: int, breaks: int, letters: Letters) -> Measurement:
    row = ratio("fertility", PER_SPLIT_WORD, tokens, breaks, "the text has no space or line feed")
    return withhold([row], letters.no_blanks)[0]
