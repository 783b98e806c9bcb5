"""Patterns of Oniguruma, the engine of Hugging Face's ``tokenizers``, as patterns of ours.

Its ``^`` and ``$`` are the ends of lines, ours those of a text. What else it reads in another way has no translation
here: a file with such a pattern goes to its library.
"""

import re

from tokbench.adapters.forms import NotNativeError

LINE_BEGINS = r"(?:(?<![^\n])(?!\Z))"
"""After a line feed that does not end the text, or where the text begins."""
LINE_ENDS = r"(?=\n|\Z)"
ESCAPES = frozenset("rntfvaxusSdDwWpPbBA")
"""Letters that mean the same behind a backslash. ``\\h`` is a hexadecimal digit, and ``\\Z`` may stand before a line
feed."""
BOUNDED = re.compile(r"\{\d*,?\d*\}")
GROUPS = re.compile(r"\((?:(?!\?)|\?(?:[:=!>]|<[=!]|<\w+>|i?(?:-i)?:))")
"""How groups begin that mean the same: ``(?m:`` lets the dot be a line feed, and ``(?x:`` allows for remarks."""


def translated(pattern: str) -> str:
    """The pattern that matches in our engine what one of Oniguruma matches in its own.

    Raises:
        NotNativeError: a part of it is read otherwise and is not translated; the message names it.
    """
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\":
            found = _escape(pattern, place)
        elif sign == "[":
            found = _set(pattern, place)
        elif sign == "(":
            found = _group(pattern, place)
        elif sign == "{" and (bounds := BOUNDED.match(pattern, place)):
            found = bounds[0]
            behind = pattern[place + len(found) : place + len(found) + 1]
            if behind == "+" or (behind == "?" and "," not in found):
                raise _other(found + behind)
        else:
            found = sign
        parts.append({"^": LINE_BEGINS, "$": LINE_ENDS}.get(found, found))
        place += len(found)
    return "".join(parts)


def _escape(pattern: str, place: int) -> str:
    found = pattern[place : place + 2]
    if found[1:].isalpha() and found[1] not in ESCAPES:
        raise _other(found)
    return found


def _group(pattern: str, place: int) -> str:
    """What begins a group. An option for all that follows holds beyond the next bar, so it must stand first."""
    if place == 0 and pattern.startswith("(?i)"):
        return "(?i)"
    found = GROUPS.match(pattern, place)
    if found is None:
        raise _other(pattern[place : place + 4])
    return found[0]


def _set(pattern: str, place: int) -> str:
    """A whole set. Those within it, and what two have in common, are only known to Oniguruma."""
    end = place + (2 if pattern.startswith("[^", place) else 1)
    first = end
    while end < len(pattern) and (pattern[end] != "]" or end == first):
        if pattern[end] == "\\":
            end += len(_escape(pattern, end))
        elif pattern.startswith("[:", end) and (close := pattern.find(":]", end)) >= 0:
            end = close + 2
        elif pattern[end] == "[" or pattern.startswith("&&", end):
            raise _other(pattern[end : end + 2])
        else:
            end += 1
    return pattern[place : end + 1]


def _other(part: str) -> NotNativeError:
    return NotNativeError(f"its pattern has '{part}', which tokenizers reads otherwise than we do")
