"""Added tokens in a text, found where the ``tokenizers`` library finds them.

The longest of the leftmost is taken: first of the tokens that are looked for in the text as it is, special ones among
them, then of the others in what lies between. A token may want to stand as a word by itself, and may take the blanks
before or after it along.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import regex

BLANKS_BEFORE = regex.compile(r"\s*\Z")
BLANKS_AFTER = regex.compile(r"\s*")
WORD = regex.compile(r"\w")


class Added(NamedTuple):
    """An added token.

    Attributes:
        id: its id.
        content: its text.
        single_word: whether it must stand by itself, between characters that belong to no word.
        lstrip: whether it takes the blanks before it along.
        rstrip: whether it takes those after it.
        normalized: whether it is looked for after those that are not.
        special: whether it is special.
    """

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


class Part(NamedTuple):
    """A part of a text: characters ``start`` to ``end``, and the id of the added token there, None for plain text."""

    start: int
    end: int
    id: int | None


class AddedTokens:
    """The added tokens of a tokenizer.

    Args:
        tokens: all of them.
    """

    def __init__(self, tokens: Iterable[Added]) -> None:
        self._tokens = {token.content: token for token in tokens}
        self._patterns = [
            pattern
            for normalized in (False, True)
            if (pattern := _any_of(token.content for token in tokens if token.normalized == normalized))
        ]

    @classmethod
    def of(cls, tokens: Mapping[int, Any]) -> "AddedTokens":
        """Those that ``transformers`` has as ids and ``AddedToken``; made once for the same."""
        return _made(
            tuple(
                Added(index, *(getattr(token, name) for name in Added._fields[1:])) for index, token in tokens.items()
            )
        )

    def split(self, text: str, special: bool = True) -> list[Part]:
        """The parts of a text, in order; together they are the text.

        Args:
            text: any text.
            special: whether special tokens are looked for; if not, their spelling is text like any other.
        """
        parts = [Part(0, len(text), None)] if text else []
        for pattern in self._patterns:
            parts = [
                piece
                for part in parts
                for piece in ([part] if part.id is not None else self._within(pattern, text, part, special))
            ]
        return parts

    def _within(self, pattern: Any, text: str, part: Part, special: bool) -> Iterator[Part]:
        done = part.start
        for match in pattern.finditer(text, part.start, part.end):
            token = self._tokens[match.group()]
            start, end = match.span()
            if token.special and not special:
                continue
            if token.single_word and (
                (start > part.start and WORD.match(text, start - 1)) or (end < part.end and WORD.match(text, end))
            ):
                continue
            if token.lstrip:
                start = max(BLANKS_BEFORE.search(text, done, start).start(), done)
            if token.rstrip:
                end = BLANKS_AFTER.match(text, end, part.end).end()
            if start > done:
                yield Part(done, start, None)
            yield Part(start, end, token.id)
            done = end
        if done < part.end:
            yield Part(done, part.end, None)


@lru_cache(maxsize=64)
def _made(tokens: tuple[Added, ...]) -> AddedTokens:
    return AddedTokens(tokens)


def _any_of(contents: Iterator[str]) -> Any:
    """A pattern of any of some texts, the longest first; None where there is none."""
    longest = sorted((content for content in contents if content), key=len, reverse=True)
    return regex.compile("|".join(map(regex.escape, longest))) if longest else None
