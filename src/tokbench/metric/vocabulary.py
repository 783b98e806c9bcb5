"""Vocabulary statistics: size, unused tokens, single bytes, and whole words."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio, withhold
from tokbench.metric.pretoken_words import PretokenWords, words_of_counts
from tokbench.metric.usage import UNKNOWN_SIZE, EncodedText, Usage
from tokbench.options import Options

MARKED_SPACE = "\u0120".encode()
"""Printed form of a space in byte-level vocabularies."""
OF_VOCABULARY, OF_LONGER = "/ tokens of the vocabulary", "/ tokens longer than one byte"


class VocabularyOptions(Options):
    frequent_words: int = Field(40_000, ge=1)
    """Number of the text's most frequent words in which tokens are looked up to count as whole words. Default:
    40,000."""

    words_of: str | None = None
    """Corpus whose most frequent words are used. "A partition cover approach to tokenization" uses those of Wikipedia
    for every corpus. Default: each tokenizer's measured text."""


def whole_words(usage: Usage, frequent_words: int, *, longer: bool = False) -> int:
    """Count tokens that are one of the most frequent words of the text.

    A word is a pre-token with a letter or a number. Words are ordered by count, then by bytes. Tokens that match only
    inside a pre-token are not whole words. With ``longer`` (default: False), tokens of one byte are left out, as in the
    paper, whose vocabulary sizes exclude the alphabet.

    The words are those of the usage's reference, if it has one. A leading space may be written U+0120 there and in
    tokens, as in the word list that was released with the paper.
    """
    return _whole_words(usage, _most_frequent(usage, _words(usage), frequent_words), longer)


def _words(usage: Usage) -> PretokenWords:
    """Return the words in which tokens are looked up."""
    return usage.words if usage.reference is None else words_of_counts(usage.reference)


def _most_frequent(usage: Usage, words: PretokenWords, number: int) -> set[bytes]:
    counts = usage.counts if usage.reference is None else usage.reference
    data, offsets = counts.data.tobytes(), counts.offsets
    chosen = np.flatnonzero(words.chosen)[:number]
    return {data[start:end] for start, end in zip(offsets[chosen].tolist(), offsets[chosen + 1].tolist(), strict=True)}


def _whole_words(usage: Usage, frequent: set[bytes], longer: bool) -> int:
    continuation = usage.vocabulary.continuation
    inside = [False] * len(usage.vocabulary) if continuation is None else continuation.tolist()
    shortest = 2 if longer else 1
    tokens = zip(usage.vocabulary.tokens, inside, strict=True)
    whole = {token for token, inner in tokens if not inner and len(token) >= shortest}
    if usage.reference is None:
        return len(whole & frequent)
    frequent = set(map(_with_space, frequent))
    return sum(_with_space(token) in frequent for token in whole)


def _with_space(token: bytes) -> bytes:
    """Return a token with a leading U+0120 replaced by a space."""
    return b" " + token.removeprefix(MARKED_SPACE) if token.startswith(MARKED_SPACE) else token


@metric(
    "vocabulary",
    options=VocabularyOptions,
    of_ids=True,
    cites=(),
    better={"unused_tokens": "lowest", "unused_token_share": "lowest"},
    shown=(
        Shown("vocabulary_size", "vocabulary", "tokens in it"),
        Shown("unused_tokens", "vocabulary"),
        Shown("unused_token_share", "vocabulary", "share unused"),
        Shown("whole_word_share", "words", "vocabulary that is whole words", OF_VOCABULARY),
        Shown("whole_word_share", "words", "longer tokens that are whole words", OF_LONGER),
        Shown("single_byte_token_share", "bytes", "single-byte tokens / tokens"),
        Shown("single_byte_tokens_used", "bytes", "single-byte tokens in use"),
        Shown("common_token_share", "exchanged", "in common"),
        Shown("added_tokens", "exchanged", "added"),
        Shown("dropped_tokens", "exchanged", "dropped"),
    ),
)
def vocabulary(usage: Usage | EncodedText, options: VocabularyOptions) -> list[Measurement]:
    """Return size, unused tokens, single bytes in use, and whole words.

    Whole words follow appendix B of "A partition cover approach to tokenization". It uses the words of Wikipedia for
    every corpus (option ``words_of``). Without that option the words are those of the measured text.
    """
    if isinstance(usage, EncodedText):
        return _by_spans(usage)
    size, total = len(usage.vocabulary), usage.total
    used = usage.frequencies > 0
    unused = size - int(np.count_nonzero(used))
    single = np.fromiter((len(token) == 1 for token in usage.vocabulary.tokens), np.bool_, size)
    of_corpus = "" if options.words_of is None else f" of {options.words_of}"
    top = f"the {options.frequent_words} most frequent pre-tokens{of_corpus} that hold a letter or a number"
    return [
        _size(size),
        *_unused(unused, size),
        _single_bytes_used(used, single),
        _single_byte_share(int(usage.frequencies[single].sum()), total),
        *_whole_word_shares(usage, options, top, size - int(single.sum())),
    ]


def _by_spans(text: EncodedText) -> list[Measurement]:
    """Return the rows of documents. Whole words are pre-tokens and have no value."""
    size, counts = text.size or 0, text.spans
    rows = [_size(size), *_unused(max(size - len(text.used), 0), max(size, 1))]
    if text.size is None:
        rows = [replace(row, value=None, n=0, reason=UNKNOWN_SIZE) for row in rows]
    rows += text.by_tokens([_single_byte_share(counts.single, counts.placed)])
    if text.vocabulary is None:
        return rows
    single = np.fromiter((len(token) == 1 for token in text.vocabulary.tokens), np.bool_, len(text.vocabulary))
    return [*rows, _single_bytes_used(text.token_frequencies > 0, single)]


def _unused(unused: int, size: int) -> list[Measurement]:
    return [
        Measurement("unused_tokens", "tokens of the vocabulary that the text never uses", float(unused), size),
        Measurement("unused_token_share", f"tokens that the text never uses {OF_VOCABULARY}", unused / size, size),
    ]


def _single_bytes_used(used: NDArray[np.bool_], single: NDArray[np.bool_]) -> Measurement:
    number = float(np.count_nonzero(used & single))
    return Measurement("single_byte_tokens_used", "tokens of one byte that the text uses", number, int(single.sum()))


def _single_byte_share(occurrences: int, tokens: int) -> Measurement:
    definition = "occurrences of tokens of one byte / tokens of the text"
    return ratio("single_byte_token_share", definition, occurrences, tokens, "the text has no tokens")


def _whole_word_shares(usage: Usage, options: VocabularyOptions, top: str, longer: int) -> list[Measurement]:
    """Return whole words / all tokens and / ``longer`` tokens.

    Both have no value if the words are not counted, or if pre-tokens are not words.
    """
    size = len(usage.vocabulary)
    of_all = f"tokens that are one of {top} {OF_VOCABULARY}"
    of_longer = f"tokens longer than one byte that are one of {top} {OF_LONGER}"
    if options.words_of is not None and usage.reference is None:
        reason = f"the words of {options.words_of} are not counted by this tokenizer's pre-tokenization"
        return [Measurement("whole_word_share", definition, None, 0, reason) for definition in (of_all, of_longer)]
    words = _words(usage)
    frequent = _most_frequent(usage, words, options.frequent_words)
    whole, long_words = (_whole_words(usage, frequent, only_longer) for only_longer in (False, True))
    rows = [
        Measurement("whole_word_share", of_all, whole / size, size),
        ratio("whole_word_share", of_longer, long_words, longer, "all tokens are of one byte"),
    ]
    return withhold(rows, words.letters.no_pretokens)


def _size(tokens: int) -> Measurement:
    return Measurement("vocabulary_size", "tokens, without special tokens", float(tokens), tokens)
