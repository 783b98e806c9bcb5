"""Comparison of the sets of characters that a pattern names with those of another library.

Each engine has tables of its own edition of Unicode, and may give a set another meaning. The library is asked about
every code point of the planes that have characters, and about the ends of the other planes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.forms import Native, NotNativeError
from tokbench.adapters.libraries import Sets, sets_of, told
from tokbench.adapters.probes import CHANGED
from tokbench.errors import TokbenchError
from tokbench.patterns.automaton import Classes, classes_of
from tokbench.patterns.characters import contains, property_of
from tokbench.patterns.parse import LanguageError

EDITIONS = {"14.0": 0x61D, "15.0": 0xCF3, "15.1": 0x2FFC, "16.0": 0x1C89, "17.0": 0x88F, "18.0": 0x558}
"""Editions of Unicode, each with a character that came with it."""
PLANES = (0, 1, 2, 3)
"""Planes of which every code point is compared."""
TAGS = range(0xE0000, 0xE1000)
ENDS = (0, 1, 0x7FFF, 0xFFFD, 0xFFFE, 0xFFFF)
"""Code points of the other planes that are compared."""


@dataclass(frozen=True)
class Differing:
    """The code points that are in other sets for a library.

    Attributes:
        codes: the code points.
        ours: the edition of Unicode of our tables; empty if there are no such code points.
        theirs: that of the library.
    """

    codes: frozenset[int]
    ours: str = ""
    theirs: str = ""

    def __str__(self) -> str:
        """Say how many there are and why; empty if there are none."""
        if not self.codes:
            return ""
        number, first = len(self.codes), min(self.codes)
        points = "code point that" if number == 1 else "code points that"
        editions = sorted((self.ours, self.theirs), key=list(EDITIONS).index)
        return (
            f"they may differ on {number:,} {points} Unicode assigned or changed after {editions[0]} "
            f"(the library has Unicode {self.theirs}, Tokbench {self.ours}; first: U+{first:04X})"
        )


def differing(native: Native, library: str) -> Differing:
    """Return the code points that are in other sets for a library because its edition of Unicode is another.

    Args:
        native: what our phases do in its place.
        library: its name.

    Raises:
        NotNativeError: a set has other characters, and Unicode's editions do not explain it.
    """
    theirs = sets_of(library)
    try:
        classes = classes_of(native.sets.values())
    except LanguageError:
        raise NotNativeError("its patterns name too many sets of characters") from None
    try:
        with told(f"{library} does not read a part of its pattern"):
            found = frozenset(_differing(native, classes, theirs))
    except TokbenchError as error:
        raise NotNativeError(str(error)) from None
    if not found:
        return Differing(found)
    ours = property_of("Cn") or ()
    unassigned = set(theirs.unmatched(r"\P{Cn}", "".join(map(chr, sorted(found)))))
    strange = {code for code in found - CHANGED if chr(code) not in unassigned and not contains(ours, code)}
    if strange:
        raise NotNativeError(
            f"{library} has other characters than we do in a set that its pattern names (U+{min(strange):04X}, for one)"
        )
    samples = "".join(map(chr, EDITIONS.values()))
    missing = theirs.unmatched(r"\P{Cn}", samples)
    return Differing(
        found,
        _edition({code for code in EDITIONS.values() if contains(ours, code)}),
        _edition(set(map(ord, missing))),
    )


def _edition(missing: set[int]) -> str:
    """Return the last edition before the first one whose character is missing."""
    found = next(iter(EDITIONS))
    for edition, code in EDITIONS.items():
        if code in missing:
            break
        found = edition
    return found


def _differing(native: Native, classes: Classes, theirs: Sets) -> Iterator[int]:
    for number, text in _by_class(classes):
        signs = {True: "?=", False: "?!"}
        looks = (
            f"({signs[bool(classes.members[ranges] >> number & 1)]}{part})" for part, ranges in native.sets.items()
        )
        yield from map(ord, theirs.unmatched("".join(looks) + r"[\s\S]", text))
    if native.steps:  # Only files of tokenizers have steps that are not regular expressions.
        from tokbench.adapters.libraries.hugging_face import isolated
    for step, ranges in native.steps.items():
        text = "".join(map(chr, _codes().tolist()))
        ours = {character for character in text if contains(ranges, ord(character))}
        yield from map(ord, ours ^ isolated(step, text))


def _by_class(classes: Classes) -> Iterator[tuple[int, str]]:
    """Yield the number of each class and its characters."""
    starts, numbers = np.array(classes.runs).T
    codes = _codes()
    of_codes = numbers[np.searchsorted(starts, codes, "right") - 1]
    for number in range(classes.count):
        yield number, codes[of_codes == number].astype("<u4").tobytes().decode("utf-32-le")


@cache
def _codes() -> NDArray[np.int64]:
    """Return the code points that are compared, ascending."""
    planes = [code for plane in PLANES for code in range(plane << 16, (plane + 1) << 16)]
    ends = [plane << 16 | end for plane in range(len(PLANES), 17) for end in ENDS]
    codes = np.unique([*planes, *ends, *TAGS])
    return codes[(codes < 0xD800) | (codes > 0xDFFF)]
