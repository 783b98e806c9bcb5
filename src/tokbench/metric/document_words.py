"""Words of gold data segmented by tokenizers that encode documents: each word is a text of its own, after a space.

This is a word in isolation. In a document, a tokenizer whose tokens may cover several words can segment it differently.
The tokens of a word are those that cover its bytes; see :class:`~tokbench.tokenizer.encoder.TokenSpans`. A word is left
out if one of these tokens has no bytes of its own, or if they do not cover the word.

The space before a word is part of it if the pre-tokenizer attaches it. If pre-tokens are not known, it is part of words
that begin with a letter if some token, of the vocabulary or of these words, is a space and a letter at least. The same
holds for numbers, and for other characters.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.metric.measurement import Form
from tokbench.metric.usage import UNKNOWN_TOKENS, words_left_out
from tokbench.metric.words import Words, cut_word, encode_words
from tokbench.vocabulary import TokenList, Vocabulary

if TYPE_CHECKING:
    import polars as pl

    from tokbench.tokenizer import Tokenizer
    from tokbench.tokenizer.encoder import TokenSpans


class PlacedToken(NamedTuple):
    """A token of a word: start and end in the word after a space, and its id."""

    start: int
    end: int
    id: int


class LeftOutWords(NamedTuple):
    """Words that are left out.

    Attributes:
        words: number of words of each language.
        left_out: number of words of each language that are left out.
    """

    words: Counter[str]
    left_out: Counter[str]

    def note(self, language: str = "") -> str:
        """Return a note on the words that are left out of a language (default: of all); empty if there are none."""
        words, left_out = (numbers[language] if language else numbers.total() for numbers in self)
        return words_left_out(left_out, words) if left_out else ""


def document_words(tokenizer: "Tokenizer", gold: "pl.DataFrame") -> tuple[Words, LeftOutWords]:
    """Segment the words of a resource, each as a text.

    Args:
        tokenizer: the tokenizer.
        gold: table of the resource, see :mod:`tokbench.metric.words`.

    Returns:
        The words that tokens spell, and the numbers of the others.
    """
    import polars as pl  # already imported where the table was built

    spelled = [*encode_words(gold)]
    encoded = [tokens_of(tokenizer.encode_word(word), 1 + len(word)) for word in spelled]
    complete = pl.Series([tokens is not None for tokens in encoded], dtype=pl.Boolean)
    numbers = [Counter(languages.to_list()) for languages in (gold["language"], gold.filter(~complete)["language"])]
    words = [word for word, tokens in zip(spelled, encoded, strict=True) if tokens is not None]
    tokens = [placed for placed in encoded if placed is not None]
    gold = gold.filter(complete)
    listed = tokenizer.listed
    inside = _inner_ids(listed)
    if tokenizer.library_name:
        joined = _joined_kinds(words, tokens, listed)
        spaces = [
            int(_kind(word) in joined and placed[0].start == 0) for word, placed in zip(words, tokens, strict=True)
        ]
        cuts = [_starts(placed, inside, len(word)) for word, placed in zip(words, tokens, strict=True)]
    else:
        scheme = [cut_word(tokenizer.words_by.boundaries, word) for word in words]
        spaces = [int(space or placed[0].end > 1) for (space, _), placed in zip(scheme, tokens, strict=True)]
        cuts = [cut for _, cut in scheme]
    tokens = [
        placed if space else [t for t in placed if t.end > 1] for placed, space in zip(tokens, spaces, strict=True)
    ]
    forms = _forms(listed)
    if tokenizer.library_name and listed is not None and "boundaries" in gold.columns:
        _add_normalised(tokenizer, forms, _segments(words, gold["boundaries"].to_list()))
    ids = [
        forms.setdefault(((b" " + word)[token.start : token.end], token.id in inside), len(forms))
        for word, placed in zip(words, tokens, strict=True)
        for token in placed
    ]
    segmented = Words(
        listed if listed is not None and len(forms) == len(listed) else _as_list(forms),
        gold,
        np.array(spaces, np.int64),
        cuts,
        np.array(ids, np.int32),
        np.cumsum([0, *map(len, tokens)], dtype=np.int64),
        UNKNOWN_TOKENS.format(tokenizer.library_name) if listed is None else "",
    )
    return segmented, LeftOutWords(*numbers)


def tokens_of(encoded: "TokenSpans", size: int) -> list[PlacedToken] | None:
    """Return the tokens of a word after a space that is encoded as a text; None if they do not spell it.

    Args:
        encoded: ids and spans.
        size: bytes of the word and the space.
    """
    tokens: list[PlacedToken] = []
    place = 1
    for (start, end), number, placed in zip(encoded.spans.tolist(), encoded.ids.tolist(), encoded.placed, strict=True):
        if end <= 1:
            tokens += [PlacedToken(start, end, number)] * bool(placed)
        elif not placed or max(start, 1) != place:
            return None
        else:
            tokens.append(PlacedToken(start, end, number))
            place = end
    return tokens if place == size and tokens else None


def _kind(word: bytes) -> tuple[bool, bool]:
    """Return whether a word begins with a letter, and whether with a number."""
    return _first_character(word).isalpha(), _first_character(word).isnumeric()


def _first_character(word: bytes) -> str:
    return word[:4].decode("utf-8", "ignore")[:1]


def _joined_kinds(
    words: Sequence[bytes], tokens: Sequence[list[PlacedToken]], listed: Vocabulary | TokenList | None
) -> set[tuple[bool, bool]]:
    """Return the kinds of words of which some token covers the space before the word and its beginning."""
    listed_tokens = () if listed is None else listed.tokens
    known = {_kind(token[1:]) for token in listed_tokens if token[:1] == b" " and _first_character(token[1:]).strip()}
    return known | {
        _kind(word) for word, placed in zip(words, tokens, strict=True) if placed[0].start == 0 < placed[0].end - 1
    }


def _inner_ids(listed: Vocabulary | TokenList | None) -> frozenset[int]:
    """Return the ids of continuation forms."""
    if listed is None or listed.continuation is None:
        return frozenset()
    places = np.flatnonzero(listed.continuation)
    return frozenset((places if listed.ids is None else listed.ids[places]).tolist())


def _starts(tokens: Sequence[PlacedToken], inside: frozenset[int], size: int) -> tuple[int, ...]:
    """Return the ends of pre-tokens in a word: its end, and places before tokens that may begin a pre-token."""
    if not inside:
        return (size,)
    return (*(token.start - 1 for token in tokens if token.start > 1 and token.id not in inside), size)


def _forms(listed: Vocabulary | TokenList | None) -> dict[Form, int]:
    """Return a number for each distinct token; without equal tokens, it is the index of the token."""
    if listed is None:
        return {}
    flags = [False] * len(listed) if listed.continuation is None else listed.continuation.tolist()
    return {form: place for place, form in enumerate(dict.fromkeys(zip(listed.tokens, flags, strict=True)))}


def _as_list(forms: dict[Form, int]) -> TokenList:
    flags = np.array([inside for _, inside in forms], np.bool_)
    tokens = tuple(token for token, _ in forms)
    return TokenList(tokens, np.arange(len(forms), dtype=np.int32), flags if flags.any() else None)


def _segments(words: Iterable[bytes], boundaries: Iterable[list[int] | None]) -> set[bytes]:
    """Return the gold segments of words."""
    edges = ((word, [0, *cuts, len(word)]) for word, cuts in zip(words, boundaries, strict=True) if cuts)
    return set(chain.from_iterable((word[start:end] for start, end in pairwise(ends)) for word, ends in edges))


def _add_normalised(tokenizer: "Tokenizer", forms: dict[Form, int], segments: set[bytes]) -> None:
    """Add the gold segments whose normalised form is a token."""
    for segment in sorted(segments):
        if (normalised := tokenizer.normalized(segment)) != segment:
            for space in (b"", b" "):
                for inside in (False, True):
                    if (space + normalised, inside) in forms:
                        forms.setdefault((space + segment, inside), len(forms))
