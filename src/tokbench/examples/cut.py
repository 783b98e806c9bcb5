"""Segmentation of a text with the offsets of its tokens, and a visible form of any bytes.

In the visible form (:func:`visible`), spaces, tabs and line ends have signs. Invisible characters are written as code
points in angle brackets: controls, direction marks, joiners, variation selectors, other white space, private and
unassigned characters. Bytes of incomplete characters are written as two hexadecimal digits. A combining mark without a
base character is placed on a dotted circle.
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
    """Methods that :func:`cut` needs of a tokenizer."""

    def encode(self, text: bytes, /) -> Any: ...
    def decode(self, ids: Any, /) -> bytes: ...


@dataclass(frozen=True)
class Token:
    """A token of a segmented text.

    Attributes:
        id: its id.
        start: offset of its first byte in the text; None if it has no place in the text.
        end: offset after its last byte, or None.
        data: its bytes in the text, or its decoded bytes if it has no place there.
    """

    id: int
    start: int | None
    end: int | None
    data: bytes


@dataclass(frozen=True)
class SegmentedText:
    """A text as a sequence of tokens.

    Attributes:
        name: name of the tokenizer.
        tokens: its tokens in order.
        size: size of the text in bytes.
        source: location of the tokenizer. Default: empty.
    """

    name: str
    tokens: tuple[Token, ...]
    size: int
    source: str = ""

    @cached_property
    def placed(self) -> bool:
        """True if the tokens have offsets that cover the text without gaps, as with lossless tokenizers."""
        return all(token.start is not None for token in self.tokens)

    @cached_property
    def borders(self) -> frozenset[int]:
        """Offsets between tokens, and both ends of the text; empty if the tokens have no offsets."""
        if not self.placed:
            return frozenset()
        return frozenset({0, self.size, *(token.end for token in self.tokens if token.end is not None)})

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Start offsets of the tokens; empty if they have none."""
        return tuple(token.start for token in self.tokens if token.start is not None)

    @cached_property
    def spans(self) -> frozenset[tuple[int | None, int | None]]:
        """Start and end offsets of the tokens."""
        return frozenset((token.start, token.end) for token in self.tokens)


def cut(name: str, tokenizer: EncodesText, text: bytes, source: str = "") -> SegmentedText:
    """Segment a text.

    Offsets come from the bytes of each decoded token. If these do not add up to the text (because of a normaliser, or a
    space added before the text), the tokenizer's ``offsets`` are used, if they leave no gaps.

    Args:
        name: name of the tokenizer.
        tokenizer: any object with ``encode`` and ``decode``. Its optional ``offsets(text)`` returns integers: either
            [tokens + 1], token starts and the end of the last, or [tokens, 2], start and end of each.
        text: any bytes.
        source: location of the tokenizer. Default: empty.
    """
    ids = [int(number) for number in tokenizer.encode(text)]
    decoded = {number: bytes(tokenizer.decode([number])) for number in dict.fromkeys(ids)}
    pieces = [decoded[number] for number in ids]
    bounds = [0]
    for piece in pieces:
        bounds.append(bounds[-1] + len(piece))
    if b"".join(pieces) != text or b"" in pieces:
        bounds = _boundaries_by_offsets(tokenizer, text, len(ids))
    if not bounds:
        return SegmentedText(
            name, tuple(Token(number, None, None, decoded[number]) for number in ids), len(text), source
        )
    spans = zip(ids, pairwise(bounds), strict=True)
    return SegmentedText(
        name, tuple(Token(number, start, end, text[start:end]) for number, (start, end) in spans), len(text), source
    )


def _boundaries_by_offsets(tokenizer: Any, text: bytes, count: int) -> list[int]:
    """Return token boundaries from the tokenizer's ``offsets``; empty if it has none, or they leave gaps."""
    try:
        offsets = np.asarray(tokenizer.offsets(text))
    except (AttributeError, TokbenchError):
        return []
    if offsets.ndim == 2 and len(offsets):
        offsets = (
            np.append(offsets[:, 0], offsets[-1, 1]) if (offsets[1:, 0] == offsets[:-1, 1]).all() else offsets[:, 0]
        )
    bounds: list[int] = offsets.tolist()
    fitting = len(bounds) == count + 1 and bounds[0] == 0 and bounds[-1] == len(text)
    return bounds if fitting and all(start < end for start, end in pairwise(bounds)) else []


def disputed_boundaries(cuts: Sequence[SegmentedText]) -> frozenset[int]:
    """Return boundaries that some, but not all segmentations have; those without offsets are ignored."""
    placed = [segmentation.borders for segmentation in cuts if segmentation.placed]
    return frozenset().union(*placed) - frozenset.intersection(*placed) if placed else frozenset()


SIGNS = {" ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍"}
CIRCLE = "◌"
"""Base of a combining mark at the start."""
BYTE, FIRST_ESCAPED = 0xDC00, 0xDC80
"""Code points of invalid bytes (``surrogateescape``): the offset of a byte's value, and the first such code point."""
_UNSEEN = r"\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u2800"
_MARKS = r"\p{M}\u1160-\u11ff\ud7b0-\ud7ff"
"""Combining marks, and vowels and finals of Hangul, which join the previous character."""
_HIDDEN = regex.compile(rf"(?P<hidden>[{_UNSEEN}])|(?P<mark>(?<=^|[{_UNSEEN}])[{_MARKS}])")


def visible(data: bytes) -> str:
    """Return bytes as one line of visible text; only combining marks are narrower than a column."""
    return _HIDDEN.sub(_sign, data.decode("utf-8", "surrogateescape"))


def _sign(match: regex.Match[str]) -> str:
    character = match[0]
    if match["mark"]:
        return CIRCLE + character
    code = ord(character)
    if FIRST_ESCAPED <= code < BYTE + 0x100:
        return f"⟨{code - BYTE:02x}⟩"
    return SIGNS.get(character) or f"⟨U+{code:04X}⟩"


def as_json(cuts: Sequence[SegmentedText], text: bytes) -> dict[str, Any]:
    """Return segmentations as a JSON object: the text, the tokens of each tokenizer, and disputed boundaries."""
    return {
        "text": {"hex": text.hex(), "shown": visible(text), "bytes": len(text)},
        "disputed_borders": sorted(disputed_boundaries(cuts)),
        "tokenizers": [
            {
                "name": segmentation.name,
                "source": segmentation.source or None,
                "placed": segmentation.placed,
                "count": len(segmentation.tokens),
                "tokens": list(map(_token, segmentation.tokens)),
            }
            for segmentation in cuts
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
