"""Other segmentations into tokens of the same vocabulary: by characters, at random, and digits from the right.

A tokenizer gives every text one segmentation, but its vocabulary spells the text in many ways. A language model that
knows its tokens by their text answers equally well if a text is segmented otherwise (Zheng and others, "Broken tokens?
Your language model can secretly handle non-canonical tokenizations", 2025). The kinds are:

- ``characters``: each character is a token. One that is not in the vocabulary is spelt by its bytes.
- ``random``: each pre-token has one of all its segmentations, drawn with equal probability (Cognetta, Zouhar and
  Okazaki 2024; Bauwens, Kaczér and de Lhoneux 2025, "GRaMPa"). Zheng and others draw so from each canonical token.
- ``digits_right``: a run of ASCII digits is split into groups of three from the right, the first of which may be
  shorter (Singh and Strouse 2024, "Tokenization counts"). The rest of the text keeps the tokenizer's segmentation.

All pre-token boundaries remain, except between two digits for ``digits_right``, as these may be groups from the left. A
segmentation decodes to the bytes of its text.

Reference: :mod:`tokbench.reference.other_segmentations`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from math import frexp, ldexp
from random import Random
from typing import NamedTuple

import numpy as np

from tokbench.evaluation.coverings import EncodedChoices, Ids
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import as_bytes

GROUP = 3
"""Largest number of digits in a group."""
DIGITS = re.compile(rb"[0-9]+")
CACHED = 1 << 16
"""Number of pre-tokens whose counts of segmentations are cached."""
LONGEST_CACHED = 64
"""Length in bytes of the longest of these pre-tokens."""
OF_LIBRARY = "another library encodes the texts, and the bytes of its tokens are not known"
NORMALIZED = "the tokenizer normalises texts, so that its tokens do not spell them"
NO_TEXT = "no text is segmented otherwise: every one keeps the tokenizer's own tokens"


def why_none(tokenizer: Tokenizer) -> str | None:
    """Return the reason why a tokenizer has no other segmentations; None if it may have some."""
    if tokenizer.library_name:
        return OF_LIBRARY
    return NORMALIZED if tokenizer.normalization else None


class Counts(NamedTuple):
    """Number of segmentations of each end of a pre-token, as ``mantissas * 2**exponents``; 0 if there is none."""

    mantissas: list[float]
    exponents: list[int]


class OtherSegmentation:
    """One kind of segmentation into the tokens of a tokenizer.

    Draws depend on the seed, the bytes of a pre-token and its position in the text. So the same text always has the
    same segmentation, and a context has the same one before every choice.

    Tokens that no text may have (a score of minus infinity, or added tokens) are not used. A pre-token that is an added
    token, or that the other tokens cannot spell, keeps the tokenizer's segmentation.

    Args:
        tokenizer: a tokenizer with a vocabulary and without normalization, see :func:`why_none`.
        kind: ``characters``, ``random`` or ``digits_right``.
        seed: seed of the draws (default: 0).
    """

    def __init__(self, tokenizer: Tokenizer, kind: str, seed: int = 0) -> None:
        self.tokenizer = tokenizer
        self.kind = kind
        self.seed = seed
        vocabulary = tokenizer.vocabulary
        ids = range(len(vocabulary)) if vocabulary.ids is None else vocabulary.ids.tolist()
        added = np.zeros(len(vocabulary), np.bool_) if vocabulary.added is None else vocabulary.added
        unused = added if vocabulary.scores is None else added | np.isneginf(vocabulary.scores)
        inner = unused if vocabulary.continuation is None else vocabulary.continuation
        rows = list(zip(vocabulary.tokens, ids, inner.tolist(), strict=True))
        usable = [row for row, without in zip(rows, unused.tolist(), strict=True) if not without]
        self.starts = {token: id for token, id, within in usable if vocabulary.continuation is None or not within}
        self.inside = {token: id for token, id, within in usable if vocabulary.continuation is None or within}
        self.added = {token for (token, *_), is_added in zip(rows, added.tolist(), strict=True) if is_added}
        self.tokens = {id: token for token, id, _ in rows}
        self.longest = max(map(len, vocabulary.tokens))
        self._counts = lru_cache(CACHED)(self._count)

    def encode(self, text: str | bytes) -> list[int]:
        """Return the ids of a text."""
        return self._segmented(as_bytes(text))

    def encode_choices(self, context: str, choices: Sequence[str]) -> tuple[EncodedChoices, bool]:
        """Encode the choices after one context. A token always ends with the context.

        Args:
            context: the context. White space at its end belongs to the choices.
            choices: texts that follow, including the space before them.

        Returns:
            The ids, where no choice straddles the end of the context, and True if some ids are not the tokenizer's.
        """
        head = as_bytes(context.rstrip())
        own = self._own(head)
        alone = tuple(self._segmented(head))
        tails, others = [], [tuple(own) != alone]
        for choice in choices:
            text = as_bytes(context + choice)
            whole = self._own(text)
            straddles = whole[: len(own)] != own
            tail = self._own(text[len(head) :]) if straddles else whole[len(own) :]
            tails.append(tuple(self._segmented(text, len(head), tail)))
            others.append(tails[-1] != tuple(tail) or (straddles and self.kind != "digits_right"))
        return EncodedChoices(alone, [alone + tail for tail in tails], [False] * len(tails)), any(others)

    def _own(self, text: bytes) -> list[int]:
        """Return the ids of a text in the segmentation of the tokenizer itself."""
        ids: list[int] = self.tokenizer.encode(text).tolist()
        return ids

    def _segmented(self, text: bytes, begin: int = 0, own: list[int] | None = None) -> list[int]:
        """Return the ids of a text from a position on.

        Args:
            text: the text.
            begin: the position (default: 0).
            own: the tokenizer's ids from there on (default: they are computed).
        """
        borders = set(self.tokenizer.scheme.boundaries(text).tolist())
        if self.kind == "digits_right":
            return self._grouped(text, begin, self._own(text[begin:]) if own is None else own, borders)
        ids: list[int] = []
        for start, end in pairwise(sorted({begin, len(text), *(border for border in borders if border > begin)})):
            ids += self._pretoken(text[start:end], start, first=start == 0 or start in borders)
        return ids

    def _pretoken(self, text: bytes, place: int, *, first: bool) -> Sequence[int]:
        """Return the ids of a pre-token, or of its end if ``first`` is False."""
        if text not in self.added:
            ids = self._characters(text, first) if self.kind == "characters" else self._random(text, place, first)
            if ids is not None:
                return ids
        return self._own(text)

    def _characters(self, text: bytes, first: bool) -> Ids | None:
        """Return a token for each character of a pre-token, or for each of its bytes; None if a byte has no token."""
        ids: list[int] = []
        for start, end in pairwise(character_borders(text)):
            tokens = self.starts if first and not start else self.inside
            if text[start:end] in tokens:
                ids.append(tokens[text[start:end]])
                continue
            for place in range(start, end):
                tokens = self.starts if first and not place else self.inside
                if text[place : place + 1] not in tokens:
                    return None
                ids.append(tokens[text[place : place + 1]])
        return tuple(ids)

    def _random(self, text: bytes, place: int, first: bool) -> list[int] | None:
        """Draw a segmentation of a pre-token. All have the same probability, within rounding."""
        counts = (self._counts if len(text) <= LONGEST_CACHED else self._count)(text, first)
        if not counts.mantissas[0]:
            return None
        draw = Random(b"%d %d " % (self.seed, place) + text)
        ids, start = [], 0
        while start < len(text):
            ways = list(self._tokens(text, start, first))
            sums = list(accumulate(self._weights(ways, counts)[0]))
            wanted = draw.random() * sums[-1]
            end, id = next((way for way, reached in zip(ways, sums, strict=True) if wanted < reached), ways[-1])
            ids.append(id)
            start = end
        return ids

    def _count(self, text: bytes, first: bool) -> Counts:
        """Count the segmentations of each end of a pre-token, from the last byte to the first."""
        counts = Counts([0.0] * len(text) + [0.5], [0] * len(text) + [1])
        for start in reversed(range(len(text))):
            weights, largest = self._weights(list(self._tokens(text, start, first)), counts)
            if weights:
                counts.mantissas[start], exponent = frexp(list(accumulate(weights))[-1])
                counts.exponents[start] = largest + exponent
        return counts

    def _weights(self, ways: Sequence[tuple[int, int]], counts: Counts) -> tuple[list[float], int]:
        """Return the number of segmentations after each next token, in units of a power of two, and its exponent."""
        largest = max((counts.exponents[end] for end, _ in ways if counts.mantissas[end]), default=0)
        return [ldexp(counts.mantissas[end], counts.exponents[end] - largest) for end, _ in ways], largest

    def _tokens(self, text: bytes, start: int, first: bool) -> Iterator[tuple[int, int]]:
        """Yield the end and the id of each token that begins at a position, the shortest first."""
        tokens = self.starts if first and not start else self.inside
        for end in range(start + 1, min(start + self.longest, len(text)) + 1):
            id = tokens.get(text[start:end])
            if id is not None:
                yield end, id

    def _grouped(self, text: bytes, begin: int, own: list[int], borders: set[int]) -> list[int]:
        """Return the ids with runs of digits in groups of three from the right; tokens without a digit remain."""
        ids: list[int] = []
        start = begin
        for has_digits, tokens in groupby(own, lambda id: DIGITS.search(self.tokens[id]) is not None):
            kept = list(tokens)
            end = start + sum(len(self.tokens[id]) for id in kept)
            regrouped = self._regrouped(text, start, end, borders) if has_digits else None
            ids += kept if regrouped is None else regrouped
            start = end
        return ids

    def _regrouped(self, text: bytes, start: int, end: int, borders: set[int]) -> list[int] | None:
        """Return the ids of successive tokens that all have digits; None if the vocabulary lacks a byte.

        Bytes before a run are joined to its first group if the vocabulary has the result. Other bytes before and after
        a run are matched by the longest tokens, between borders. A group that is not in the vocabulary is split into
        the longest tokens from its right.
        """
        pieces: list[tuple[int, int, bool]] = []
        for first, last in (run.span() for run in DIGITS.finditer(text, start, end)):
            sizes = [(last - first - 1) % GROUP + 1, *[GROUP] * ((last - first - 1) // GROUP)]
            edges = list(accumulate(sizes, initial=first))
            if start < first:
                free = borders.isdisjoint(range(start + 1, first + 1))
                if free and text[start : edges[1]] in self._at(text, start, borders):
                    edges[0] = start
                else:
                    pieces.append((start, first, False))
            pieces += [(*group, True) for group in pairwise(edges)]
            start = last
        pieces.append((start, end, False))
        ids: list[int] = []
        for first, last, from_right in pieces:
            tokens = (self._from_right if from_right else self._from_left)(text, first, last, borders)
            if tokens is None:
                return None
            ids += tokens
        return ids

    def _at(self, text: bytes, place: int, borders: set[int]) -> dict[bytes, int]:
        """Return the tokens that may begin at a position."""
        within = place > 0 and text[place - 1 : place + 1].isdigit() and place < len(text)
        return self.starts if place in borders and not within else self.inside

    def _from_right(self, text: bytes, start: int, end: int, borders: set[int]) -> list[int] | None:
        """Return the longest tokens of a group of digits, from its right."""
        ids: list[int] = []
        while start < end:
            tokens = ((begin, self._at(text, begin, borders).get(text[begin:end])) for begin in range(start, end))
            begin, id = next((token for token in tokens if token[1] is not None), (start, None))
            if id is None:
                return None
            ids.insert(0, id)
            end = begin
        return ids

    def _from_left(self, text: bytes, start: int, end: int, borders: set[int]) -> list[int] | None:
        """Return the longest tokens of some bytes, from their left, none of which crosses a border."""
        ids: list[int] = []
        while start < end:
            most = next((place for place in range(start + 1, end) if place in borders), end)
            tokens = self._at(text, start, borders)
            stop = next((stop for stop in range(most, start, -1) if text[start:stop] in tokens), None)
            if stop is None:
                return None
            ids.append(tokens[text[start:stop]])
            start = stop
        return ids


def character_borders(text: bytes) -> list[int]:
    """Return the positions between the characters of a text, with 0 and its length. An invalid byte is a character."""
    borders = [0]
    for character in text.decode("utf-8", "surrogateescape"):
        borders.append(borders[-1] + len(character.encode("utf-8", "surrogateescape")))
    return borders
