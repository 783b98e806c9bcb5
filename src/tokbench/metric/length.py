"""Token lengths over the vocabulary and the text, and the share of tokens that begin a word.

A word begins with a space, or where its pre-token begins. Texts where neither separates words have no share of their
tokens, see :mod:`tokbench.metric.pretoken_words`.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import ADDED, DROPPED, Measurement, ratio, withhold
from tokbench.metric.pretoken_words import Letters
from tokbench.metric.usage import EncodedText, Usage
from tokbench.options import Options
from tokbench.vocabulary import TokenList, Vocabulary

NO_TOKENS = "the text has no tokens"
OF_VOCABULARY, OF_TEXT = "/ tokens of the vocabulary", "/ tokens of the text"
BYTES, CHARACTERS = "bytes", "characters (bytes that begin a UTF-8 character)"
INITIAL, MARKED = "tokens that begin with a space", "tokens marked as beginning a pre-token"


def byte_lengths(vocabulary: Vocabulary | TokenList) -> NDArray[np.int64]:
    """Return the number of bytes of each token, int64 [tokens]."""
    return np.fromiter(map(len, vocabulary.tokens), np.int64, len(vocabulary))


def character_length(token: bytes) -> int:
    """Count the bytes of a token that begin a UTF-8 character.

    A token may contain part of a character. With first bytes the lengths of a text's tokens add up to its characters
    for any segmentation. A token that consists only of continuation bytes has length 0.
    """
    return sum(byte & 0xC0 != 0x80 for byte in token)


def character_lengths(vocabulary: Vocabulary | TokenList) -> NDArray[np.int64]:
    """Return the number of characters that begin in each token, int64 [tokens], see :func:`character_length`."""
    data, offsets = vocabulary.flat()
    begun = np.zeros(len(data) + 1, np.int64)
    np.cumsum(data & 0xC0 != 0x80, out=begun[1:])
    return np.diff(begun[offsets])


def space_initial(vocabulary: Vocabulary | TokenList) -> NDArray[np.bool_]:
    """Return True for tokens that begin with a space, bool [tokens]."""
    data, offsets = vocabulary.flat()
    return data[offsets[:-1]] == 0x20


class LengthOptions(Options):
    longest: int = Field(16, ge=1)
    """Greatest length in bytes with its own class in the distribution; longer tokens are counted together. Default:
    16."""


@metric(
    "length",
    options=LengthOptions,
    of_ids=True,
    cites=(),
    shown=(
        Shown("mean_token_length", "lengths", "characters, vocabulary", f"{CHARACTERS} {OF_VOCABULARY}"),
        Shown("mean_token_length", "lengths", "bytes, vocabulary", f"{BYTES} {OF_VOCABULARY}"),
        Shown("mean_token_length", "lengths", "characters, text", f"{CHARACTERS} {OF_TEXT}"),
        Shown("mean_token_length", "lengths", "bytes, text", f"{BYTES} {OF_TEXT}"),
        Shown("word_initial_share", "words", "text's tokens that begin with a space", f"{INITIAL} {OF_TEXT}"),
        Shown("word_initial_share", "words", "text's tokens marked as beginning", f"{MARKED} {OF_TEXT}"),
        Shown("word_initial_share", "vocabulary", "begin with a space", f"{INITIAL} {OF_VOCABULARY}"),
        Shown("word_initial_share", "vocabulary", "marked as beginning", f"{MARKED} {OF_VOCABULARY}"),
        Shown("mean_token_length", "exchanged", "mean characters, added", ADDED),
        Shown("mean_token_length", "exchanged", "mean characters, dropped", DROPPED),
        Shown("word_initial_share", "exchanged", "begin with a space, added", ADDED),
        Shown("word_initial_share", "exchanged", "begin with a space, dropped", DROPPED),
    ),
)
def length(usage: Usage | EncodedText, options: LengthOptions) -> list[Measurement]:
    """Return mean token length in bytes and characters, the share of word-initial tokens, and the length distribution.

    The first two are reported for Picky BPE ("BPE gets picky", "Token qualities"). Vocabularies with continuation forms
    mark the tokens that begin a pre-token. In other vocabularies a token begins a word if it begins with a space.
    """
    if isinstance(usage, EncodedText):
        return _by_spans(usage, options)
    vocabulary, used, total = usage.vocabulary, usage.frequencies, usage.total
    rows = []
    for unit, lengths in ((BYTES, byte_lengths(vocabulary)), (CHARACTERS, character_lengths(vocabulary))):
        rows += [
            _over_vocabulary("mean_token_length", f"{unit} {OF_VOCABULARY}", lengths),
            ratio("mean_token_length", f"{unit} {OF_TEXT}", int(lengths @ used), total, NO_TOKENS),
        ]
    initial, letters = space_initial(vocabulary), usage.words.letters
    rows += [
        _over_vocabulary("word_initial_share", f"{INITIAL} {OF_VOCABULARY}", initial),
        _initial_of_text(int(used[initial].sum()), total, letters),
    ]
    return rows + _marked_initial(vocabulary, used, letters) + _distribution(vocabulary, options.longest)


def _by_spans(text: EncodedText, options: LengthOptions) -> list[Measurement]:
    """Return the rows of the text by spans, and those of the vocabulary if its tokens are known."""
    counts, vocabulary = text.spans, text.vocabulary
    rows = text.by_tokens(
        [
            ratio("mean_token_length", f"{BYTES} {OF_TEXT}", counts.bytes, counts.placed, NO_TOKENS),
            ratio("mean_token_length", f"{CHARACTERS} {OF_TEXT}", counts.characters, counts.placed, NO_TOKENS),
            _initial_of_text(counts.spaced, counts.placed, counts.of_letters),
        ]
    )
    if vocabulary is None:
        return rows
    for unit, lengths in ((BYTES, byte_lengths(vocabulary)), (CHARACTERS, character_lengths(vocabulary))):
        rows.append(_over_vocabulary("mean_token_length", f"{unit} {OF_VOCABULARY}", lengths))
    rows.append(_over_vocabulary("word_initial_share", f"{INITIAL} {OF_VOCABULARY}", space_initial(vocabulary)))
    rows += _marked_initial(vocabulary, text.token_frequencies, counts.of_letters)
    return rows + _distribution(vocabulary, options.longest)


def _distribution(vocabulary: Vocabulary | TokenList, longest: int) -> list[Measurement]:
    """Return the number of tokens of each length."""
    numbers = np.bincount(np.minimum(byte_lengths(vocabulary), longest + 1), minlength=longest + 2)
    classes = [*(f"{width:02} bytes" for width in range(1, longest + 1)), f"more than {longest} bytes"]
    return [
        Measurement("token_length_distribution", f"tokens of the vocabulary of {name}", float(number), len(vocabulary))
        for name, number in zip(classes, numbers[1:].tolist(), strict=True)
    ]


def _initial_of_text(initial: int, tokens: int, letters: Letters) -> Measurement:
    row = ratio("word_initial_share", f"{INITIAL} {OF_TEXT}", initial, tokens, NO_TOKENS)
    return withhold([row], letters.no_blanks)[0]


def _marked_initial(
    vocabulary: Vocabulary | TokenList, frequencies: NDArray[np.int64], letters: Letters
) -> list[Measurement]:
    name = "word_initial_share"
    of_vocabulary, of_text = f"{MARKED} {OF_VOCABULARY}", f"{MARKED} {OF_TEXT}"
    if vocabulary.continuation is None:
        reason = "the vocabulary has no continuation forms: its tokens match anywhere"
        return [Measurement(name, definition, None, 0, reason) for definition in (of_vocabulary, of_text)]
    initial = ~vocabulary.continuation
    occurrences = int(frequencies[initial].sum())
    return [
        _over_vocabulary(name, of_vocabulary, initial),
        *withhold([ratio(name, of_text, occurrences, int(frequencies.sum()), NO_TOKENS)], letters.no_pretokens),
    ]


def _over_vocabulary(name: str, definition: str, values: NDArray[np.int64] | NDArray[np.bool_]) -> Measurement:
    return Measurement(name, definition, int(values.sum()) / len(values), len(values))
