"""Encoded texts as ``transformers`` wants them of a fast tokenizer: offsets, words, windows and padding.

What stands here has the attributes and methods of ``tokenizers.Encoding`` that ``transformers.BatchEncoding`` asks for.
Offsets and words are found when somebody asks for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from tokbench.adapters.added_tokens import AddedTokens, Part
from tokbench.tokenizer import Tokenizer

Span = tuple[int, int]
Value = TypeVar("Value")


class Source:
    """A text, or the words of one, and its ids.

    Args:
        tokenizer: what encodes it.
        added: the added tokens that are looked for.
        texts: one text, or its words, each encoded by itself.
        worded: whether they are words; offsets are then those within a word.
        special: whether special tokens are looked for.
    """

    def __init__(
        self, tokenizer: Tokenizer, added: AddedTokens, texts: Sequence[str], worded: bool, special: bool
    ) -> None:
        self.tokenizer = tokenizer
        self.texts = texts
        self.worded = worded
        self._parts = [added.split(text, special) for text in texts]
        self.ids: list[int] = []
        for text, parts in zip(texts, self._parts, strict=True):
            for part in parts:
                self.ids += tokenizer.encode(text[part.start : part.end]).tolist() if part.id is None else [part.id]

    @cached_property
    def offsets(self) -> list[Span]:
        """Of each token, where it starts and ends in the characters of its text."""
        spans: list[Span] = []
        for text, parts in zip(self.texts, self._parts, strict=True):
            for start, end, index in parts:
                if index is None:
                    within = self.tokenizer.character_offsets(text[start:end]) + start
                    spans += map(tuple, within.tolist())
                else:
                    spans.append((start, end))
        return spans

    @cached_property
    def words(self) -> list[int]:
        """Of each token, the number of its word: of its pre-token or added token, or the place among given words."""
        found: list[int] = []
        for number, (text, parts) in enumerate(zip(self.texts, self._parts, strict=True)):
            first = 0
            for part in parts:
                cut = self._pretokens(text, part)
                found += [number if self.worded else first + place for place in cut]
                first += cut[-1] + 1
        return found

    def _pretokens(self, text: str, part: Part) -> list[int]:
        """Of each token of a part, the number of its pre-token there."""
        if part.id is not None:
            return [0]
        data = text[part.start : part.end].encode("utf-8", "surrogatepass")
        bounds = self.tokenizer.scheme.boundaries(data)
        starts = self.tokenizer.offsets(data)[:-1]
        return (np.searchsorted(bounds, starts, side="right") - 1).tolist()


class Window(NamedTuple):
    """Tokens ``start`` to ``end`` of a source, which is the first or the second of a pair."""

    source: Source
    start: int
    end: int
    sequence: int


@dataclass(frozen=True)
class Padding:
    """Tokens on one side that stand for nothing."""

    tokens: int = 0
    left: bool = False
    id: int = 0
    type_id: int = 0


@dataclass(frozen=True)
class Encoded:
    """A row of a batch: one window, or two of a pair, and padding.

    Attributes:
        windows: what of which text it holds.
        spell: from ids to tokens.
        padding: what stands before or after it.
    """

    windows: tuple[Window, ...]
    spell: Callable[[list[int]], list[str]]
    padding: Padding = Padding()

    def padded(self, length: int, padding: Padding) -> "Encoded":
        """The same with as much padding as it takes to the length."""
        return replace(self, padding=replace(padding, tokens=max(0, length - len(self))))

    def __len__(self) -> int:
        return sum(window.end - window.start for window in self.windows) + self.padding.tokens

    def _padded(self, of: Callable[[Window], Sequence[Value]], pad: Value) -> list[Value]:
        values = [value for window in self.windows for value in of(window)]
        filling = [pad] * self.padding.tokens
        return filling + values if self.padding.left else values + filling

    @property
    def ids(self) -> list[int]:
        return self._padded(lambda window: window.source.ids[window.start : window.end], self.padding.id)

    @property
    def tokens(self) -> list[str]:
        return self.spell(self.ids)

    @property
    def type_ids(self) -> list[int]:
        return self._padded(lambda window: [window.sequence] * (window.end - window.start), self.padding.type_id)

    @property
    def attention_mask(self) -> list[int]:
        return self._padded(lambda window: [1] * (window.end - window.start), 0)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for padding alone: special tokens that stand in a text are part of it."""
        return [1 - mask for mask in self.attention_mask]

    @property
    def offsets(self) -> list[Span]:
        return self._padded(lambda window: window.source.offsets[window.start : window.end], (0, 0))

    @property
    def word_ids(self) -> list[int | None]:
        return self._padded(lambda window: window.source.words[window.start : window.end], None)

    @property
    def sequence_ids(self) -> list[int | None]:
        """Return the text of a pair (0 or 1) that each token belongs to; None for padding."""
        return self._padded(lambda window: [window.sequence] * (window.end - window.start), None)

    @property
    def n_sequences(self) -> int:
        return len(self.windows)

    def token_to_sequence(self, token: int) -> int | None:
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, character: int, sequence: int = 0) -> int | None:
        """The first token that the character is in."""
        of = self.sequence_ids
        return next(
            (
                place
                for place, (start, end) in enumerate(self.offsets)
                if of[place] == sequence and start <= character < end
            ),
            None,
        )

    def char_to_word(self, character: int, sequence: int = 0) -> int | None:
        token = self.char_to_token(character, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """The first token of a word, and the one after its last."""
        of = self.sequence_ids
        places = [place for place, one in enumerate(self.word_ids) if one == word and of[place] == sequence]
        return (places[0], places[-1] + 1) if places else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])
