"""A text as a tokenizer cuts it: ids, and where in the text the bytes of each lie.

Bytes as a reader sees them: every character takes its place, and none hides, joins or turns what stands beside it.

Spaces, tabs and ends of lines have signs. What would not show by itself (controls, marks of direction, joiners,
variation selectors, blanks of other widths, private and unassigned characters) stands as its code point between angle
brackets, a byte that belongs to no whole character as its two hexadecimal digits. A mark that has no character of its
own to stand on is put on a dotted circle.

Cuts as JSON holds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import regex

from tokbench.errors import TokbenchError


class EncodesText(Protocol):
    """What is asked of a tokenizer here."""

    def encode(self, text: bytes, /) -> Any: ...
    def decode(self, ids: Any, /) -> bytes: ...


@dataclass(frozen=True)
class Token:
    """One token of a cut.

    Attributes:
        id: in the tokenizer's vocabulary.
        start: where its bytes begin in the text; None where they cannot be found there.
        end: where they end.
        data: its bytes: of the text where they can be found there, else as it is decoded by itself.
    """

    id: int
    start: int | None
    end: int | None
    data: bytes


@dataclass(frozen=True)
class SegmentedText:
    """A text in a tokenizer's tokens.

    Attributes:
        name: what the tokenizer is called.
        tokens: in order.
        size: bytes of the text.
        source: where the tokenizer was found; empty where nothing says so.
    """

    name: str
    tokens: tuple[Token, ...]
    size: int
    source: str = ""

    @cached_property
    def placed(self) -> bool:
        """Whether the tokens lie end to end in the text, as those of a lossless tokenizer do."""
        return all(token.start is not None for token in self.tokens)

    @cached_property
    def borders(self) -> frozenset[int]:
        """Where tokens meet, and the two ends of the text; empty where the tokens have no place in it."""
        if not self.placed:
            return frozenset()
        return frozenset({0, self.size, *(token.end for token in self.tokens if token.end is not None)})

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where tokens begin; empty where they have no place in the text."""
        return tuple(token.start for token in self.tokens if token.start is not None)

    @cached_property
    def spans(self) -> frozenset[tuple[int | None, int | None]]:
        """Where tokens lie."""
        return frozenset((token.start, token.end) for token in self.tokens)


def cut(name: str, tokenizer: EncodesText, text: bytes, source: str = "") -> SegmentedText:
    """Cut a text.

    Tokens are placed by their bytes, one decoded at a time. Where these do not add up to the text (a normaliser, a
    space that comes before the text) the tokenizer's own ``offsets`` place them if it has any that leave no gap.

    Args:
        name: what to call the tokenizer.
        tokenizer: any object that encodes and decodes; ``offsets(text)``, if it has it, gives whole numbers, either
            [tokens + 1], where tokens begin and the last ends, or [tokens, 2], where each begins and ends.
        text: any bytes.
        source: where the tokenizer was found.
    """
    ids = [int(one) for one in tokenizer.encode(text)]
    decoded = {one: bytes(tokenizer.decode([one])) for one in dict.fromkeys(ids)}
    pieces = [decoded[one] for one in ids]
    bounds = [0]
    for piece in pieces:
        bounds.append(bounds[-1] + len(piece))
    if b"".join(pieces) != text or b"" in pieces:
        bounds = _told(tokenizer, text, len(ids))
    if not bounds:
        return SegmentedText(name, tuple(Token(one, None, None, decoded[one]) for one in ids), len(text), source)
    spans = zip(ids, pairwise(bounds), strict=True)
    return SegmentedText(
        name, tuple(Token(one, start, end, text[start:end]) for one, (start, end) in spans), len(text), source
    )


def _told(tokenizer: Any, text: bytes, count: int) -> list[int]:
    """Bounds of the tokens by the tokenizer's own offsets; empty where it has none, or they leave gaps."""
    try:
        told = np.asarray(tokenizer.offsets(text))
    except (AttributeError, TokbenchError):
        return []
    if told.ndim == 2 and len(told):
        told = np.append(told[:, 0], told[-1, 1]) if (told[1:, 0] == told[:-1, 1]).all() else told[:, 0]
    bounds: list[int] = told.tolist()
    fitting = len(bounds) == count + 1 and bounds[0] == 0 and bounds[-1] == len(text)
    return bounds if fitting and all(start < end for start, end in pairwise(bounds)) else []


def disputed(cuts: Sequence[SegmentedText]) -> frozenset[int]:
    """Borders that some of the cuts have and not all; cuts without a place in the text have no say."""
    placed = [one.borders for one in cuts if one.placed]
    return frozenset().union(*placed) - frozenset.intersection(*placed) if placed else frozenset()


SIGNS = {" ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍"}
CIRCLE = "◌"
"""What a mark is put on that stands at the beginning."""
BYTE, FIRST_ESCAPED = 0xDC00, 0xDC80
"""A byte of no character is decoded to this code point and its own value, that of the first such byte."""
_UNSEEN = r"\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u2800"
_MARKS = r"\p{M}\u1160-\u11ff\ud7b0-\ud7ff"
"""Marks, and vowels and finals of Hangul, which join the character before them."""
_HIDDEN = regex.compile(rf"(?P<hidden>[{_UNSEEN}])|(?P<mark>(?<=^|[{_UNSEEN}])[{_MARKS}])")


def visible(data: bytes) -> str:
    """Bytes as they are shown: one line, in which only marks are narrower than a column."""
    return _HIDDEN.sub(_sign, data.decode("utf-8", "surrogateescape"))


def _sign(found: regex.Match[str]) -> str:
    character = found[0]
    if found["mark"]:
        return CIRCLE + character
    code = ord(character)
    if FIRST_ESCAPED <= code < BYTE + 0x100:
        return f"⟨{code - BYTE:02x}⟩"
    return SIGNS.get(character) or f"⟨U+{code:04X}⟩"


def as_json(cuts: Sequence[SegmentedText], text: bytes) -> dict[str, Any]:
    """The text in hexadecimal and as it is shown; of each tokenizer where it was found and its tokens; and the borders
    that some have not."""
    return {
        "text": {"hex": text.hex(), "shown": visible(text), "bytes": len(text)},
        "disputed_borders": sorted(disputed(cuts)),
        "tokenizers": [
            {
                "name": one.name,
                "source": one.source or None,
                "placed": one.placed,
                "count": len(one.tokens),
                "tokens": list(map(_token, one.tokens)),
            }
            for one in cuts
        ],
    }


def _token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "start": token.start,
        "end": token.end,
        "hex": token.data.hex(),
        "shown": visible(token.data),
    }
