"""Sets of characters as ranges of code points, and the Unicode properties in patterns."""

from collections.abc import Iterable
from functools import cache

from tokbench.kernels import unicode_classes
from tokbench.pretokenization.patterns import unicode_properties

Ranges = tuple[tuple[int, int], ...]
"""First and last code point of each run, ascending; adjacent runs are merged."""

LAST = 0x10FFFF


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort ranges and merge those that touch or overlap."""
    disjoint: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if disjoint and first <= disjoint[-1][1] + 1:
            disjoint[-1] = disjoint[-1][0], max(last, disjoint[-1][1])
        else:
            disjoint.append((first, last))
    return tuple(disjoint)


def union(*sets: Ranges) -> Ranges:
    return merge_ranges(run for ranges in sets for run in ranges)


def complement(ranges: Ranges) -> Ranges:
    """Return the complement of a set."""
    gaps, next_first = [], 0
    for first, last in ranges:
        if first > next_first:
            gaps.append((next_first, first - 1))
        next_first = last + 1
    if next_first <= LAST:
        gaps.append((next_first, LAST))
    return tuple(gaps)


def single(character: str) -> Ranges:
    return ((ord(character), ord(character)),)


def contains(ranges: Ranges, code: int) -> bool:
    """Return whether a code point is in a set."""
    return any(first <= code <= last for first, last in ranges)


def cases_of(letter: str) -> Ranges:
    """Return the characters that ``(?i:letter)`` of the ``regex`` package matches; for ``s`` that includes U+017F."""
    lower = letter.lower()
    variants = unicode_properties.CASE_VARIANTS.get(lower, lower + lower.upper())
    return merge_ranges((ord(variant), ord(variant)) for variant in variants)


def _parse_ranges(words: Iterable[str]) -> Ranges:
    ends = (word.partition("-") for word in words)
    return merge_ranges((int(first, 16), int(last or first, 16)) for first, _, last in ends)


@cache
def _unparsed_tables() -> dict[str, list[str]]:
    """Return the ranges of every two-letter general category and of every script, unparsed, by name."""
    tables = {}
    for table in (unicode_properties.CATEGORIES, unicode_properties.SCRIPTS):
        words: list[str] = []
        for word in (table + " :").split():
            if word.endswith(":"):
                if words:
                    tables[words[0]] = words[1:]
                words = [word[:-1]]
            else:
                words.append(word)
    return tables


@cache
def _ranges(name: str) -> Ranges | None:
    """Return the ranges of a two-letter general category or of a script; None if there is none of this name."""
    words = _unparsed_tables().get(name)
    return None if words is None else _parse_ranges(words)


@cache
def property_of(name: str) -> Ranges | None:
    r"""Return the set of ``\p{name}``; None for a property that is not included."""
    for prefix in ("Script=", "sc="):
        if name.startswith(prefix):
            return _ranges(name.removeprefix(prefix)) if len(name.removeprefix(prefix)) > 2 else None
    if len(name) == 1:
        parts = [
            _ranges(category) or () for category in _unparsed_tables() if len(category) == 2 and category[0] == name
        ]
        return union(*parts) if parts else None
    return _ranges(name)


@cache
def shorthand(letter: str) -> Ranges | None:
    r"""Return the set of ``\letter`` (s, d, w and their complements); None for another letter."""
    if letter == "s":
        return _parse_ranges(unicode_classes.BLANKS.split())
    if letter == "d":
        return _ranges("Nd")
    if letter == "w":
        inside = (property_of(name) or () for name in ("L", "M", "Nd", "Pc"))
        return union(*inside, _parse_ranges(unicode_properties.WORDS_OUTSIDE.split()))
    return complement(shorthand(letter.lower()) or ()) if letter in "SDW" else None
