"""Patterns that match a few fixed strings only, such as runs of up to 24 spaces."""

from collections.abc import Sequence as Several

from tokbench.pretokenization.patterns.parse import Characters, Choice, Node, Repeat, Sequence

MOST = 4096
"""Maximum number of strings, and of characters in a set or a repetition."""


def strings_of(node: Node) -> list[str] | None:
    """Return the strings that a pattern matches, in the order in which a search tries them.

    None if there are too many, or if the first string that matches at a place may not be the longest one.

    Args:
        node: Syntax tree of the pattern.
    """
    strings = _strings(node)
    if strings is None or not all(strings):
        return None
    strings = list(dict.fromkeys(strings))
    tried: set[str] = set()
    for string in strings:
        if any(string[:size] in tried for size in range(1, len(string))):
            return None
        tried.add(string)
    return strings


def _strings(node: Node) -> list[str] | None:
    match node:
        case Characters(ranges):
            codes = [code for first, last in ranges for code in range(first, min(last, first + MOST) + 1)]
            valid = not any(0xD800 <= code < 0xE000 for code in codes)
            return [chr(code) for code in codes] if valid and len(codes) <= MOST else None
        case Choice(options):
            parts = [_strings(option) for option in options]
            found = [string for part in parts if part is not None for string in part]
            return found if None not in parts and len(found) <= MOST else None
        case Sequence(parts):
            return _joined([_strings(part) for part in parts])
        case Repeat(inner, least, most, lazy, possessive):
            strings = _strings(inner)
            if strings is None or len(strings) > 1 or most is None or lazy or possessive:
                return None
            return [strings[0] * times for times in range(most, least - 1, -1)]
    return None


def _joined(parts: Several[list[str] | None]) -> list[str] | None:
    found = [""]
    for part in parts:
        if part is None or len(found) * len(part) > MOST:
            return None
        found = [left + right for left in found for right in part]
    return found
