"""Pre-token boundaries by regular expression: the definition that the scanners must meet."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import regex


def pieces(pattern: str, text: str) -> Iterator[str]:
    """The matches of a pattern, and the text between them."""
    end = 0
    for match in regex.finditer(pattern, text):
        if match.start() > end:
            yield text[end : match.start()]
        yield match[0]
        end = match.end()
    if end < len(text):
        yield text[end:]


def boundaries(pattern: str | Sequence[str] | None, text: bytes) -> list[int]:
    """Of a text; of several patterns each cuts the pieces of the one before, and of none the text is one piece."""
    found = [text.decode("utf-8", "surrogateescape")] if text else []
    for each in [pattern] if isinstance(pattern, str) else pattern or []:
        found = [piece for whole in found for piece in pieces(each, whole)]
    return [0, *accumulate(len(piece.encode("utf-8", "surrogateescape")) for piece in found)]


def groups(text: str, size: int) -> list[str]:
    """A number's digits in groups, counted from the right."""
    return [*groups(text[:-size], size), text[-size:]] if len(text) > size else [text]
