"""Cutting text by searching for regular expressions, each in every piece that the one before left.

What matches is a piece, and what lies between two matches, as in the ``tokenizers`` library's ``Split`` with behaviour
``isolated``. Patterns are those of the ``regex`` package. A byte that is no part of valid UTF-8 is a character by
itself, neither letter, number nor blank: ``regex`` is given one of the lone surrogates U+DC80 to U+DCFF in its place.

Cutting by regular expressions: by a scanner where they are compiled, by searching where they are not.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from tokbench.errors import TokbenchError, shortened
from tokbench.kernels.scan import Scanner, boundaries

if TYPE_CHECKING:
    import numpy as np
    import regex
    from numpy.typing import NDArray


class Boundaries(Protocol):
    """How a pre-tokenization without options is called."""

    def __call__(self, text: bytes) -> "NDArray[np.int64]":
        """Where pre-tokens begin and end: int64 [n + 1], the first 0, the last the length; ``[0]`` for an empty text.

        Bytes that are not valid UTF-8 count as characters that are neither space, letter nor number.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What a pre-tokenization does once its options are chosen.

    Attributes:
        boundaries: where it cuts a text.
        splits: regular expressions that do the same on text, each applied to every piece that the one before left; both
            what matches and what lies between is a piece. Empty where a document stays whole, None where none do it.
        scanner: what kernels cut by without a call into Python; None where they call ``boundaries``.
        characters: the same as ``splits``, each a function from text to where its pieces end, in characters; None where
            the pre-tokenization works on bytes.
        modules: modules of other pre-tokenizations that it calls.
    """

    boundaries: Boundaries
    splits: tuple[str, ...] | None = None
    scanner: Scanner | None = None
    characters: tuple[Callable[[str], Iterable[int]], ...] | None = None
    modules: tuple[str, ...] = ()


def cut_by_patterns(*patterns: str) -> Cut:
    """A cut by patterns, one after another, each on every piece of the one before.

    Raises:
        ValueError: a pattern is broken, or matches the empty string.
    """
    scanned = cut_by_scanner(*patterns)
    if scanned is not None:
        return scanned

    return cut_by_functions(*map(regex_cut, patterns), splits=patterns)


def cut_by_scanner(*patterns: str) -> Cut | None:
    """The same without a call into Python; None where a pattern is not of the language that is compiled."""
    from tokbench.pretokenization.patterns import compile_scanner

    scanner = compile_scanner(patterns)
    if scanner is None:
        return None
    return Cut(boundaries=partial(boundaries, scanner), splits=patterns, scanner=scanner)


Characters = Callable[[str], Iterable[int]]
"""Where the pieces of a text end, in characters, ascending; the last is its length."""
PATIENCE = 10.0
"""Seconds that a pattern may take of any text."""
SLOWEST = 20_000
"""Characters for which it may take a second more; usual patterns come through millions."""
PROBES = ("", "Ab's 1\u00b2, \n\t\u00e9\u4e2d!")
"""Texts on which a pattern is tried before it is used."""
SHOWN = 20
"""Characters that a message repeats of a text."""


def expression_of(pattern: str) -> "regex.Pattern[str]":
    """Return a compiled regular expression.

    Raises:
        ValueError: the pattern is broken.
    """
    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of signs that a later edition of the package may read in another way.
            return regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression ({error}); correct it") from None


def matches_nothing(made: "regex.Pattern[str]") -> bool:
    """Return whether an expression matches the empty string in a probe."""
    return any(match.end() == match.start() for text in PROBES for match in made.finditer(text))


@cache
def compiled(pattern: str) -> "regex.Pattern[str]":
    """A pattern that can cut texts.

    Raises:
        ValueError: it is broken, or matches the empty string.
    """
    made = expression_of(pattern)
    if matches_nothing(made):
        raise ValueError("matches the empty string, by which nothing is cut; let it match a character or more")
    return made


def regex_cut(pattern: str) -> Characters:
    """A cut by a pattern; it raises a TokbenchError where that matches the empty string after all, or takes too long.

    Raises:
        ValueError: as :func:`compiled`.
    """
    made = compiled(pattern)
    named = f"pattern '{shortened(pattern)}'"

    def ends(text: str) -> Iterator[int]:
        allowed = PATIENCE + len(text) / SLOWEST
        end = 0
        try:
            for match in made.finditer(text, timeout=allowed):
                start, stop = match.span()
                if start > end:
                    yield start
                if stop == start:
                    place = shortened(text[start : start + SHOWN], SHOWN)
                    raise TokbenchError(f"{named}: matches the empty string before '{place}'; let it match a character")
                yield stop
                end = stop
        except TimeoutError:
            place = shortened(text[end : end + SHOWN], SHOWN)
            raise TokbenchError(
                f"{named}: takes more than {allowed:.0f} s for {len(text):,} characters and stands at '{place}'; "
                "put no repetition within another"
            ) from None
        if end < len(text):
            yield len(text)

    return ends


def cut_by_functions(
    *steps: Characters, splits: tuple[str, ...] | None, first: Boundaries | None = None, done: int = 0
) -> Cut:
    """A cut that takes steps one after another, each on every piece of the one before.

    Args:
        steps: one or more.
        splits: the patterns that do the same.
        first: what does the same as the first steps, on bytes.
        done: how many of the steps that is.
    """
    import numpy as np

    def boundaries(text: bytes) -> "NDArray[np.int64]":
        characters = text.decode("utf-8", "surrogateescape")
        ends: Iterable[int] = [len(characters)] if characters else []
        places = None if characters.isascii() else _sizes(characters).cumsum()
        if first is not None:
            bounds = first(text)[1:]
            ends = (bounds if places is None else np.searchsorted(places, bounds) + 1).tolist()
        for step in steps[done:]:
            ends = _within(characters, ends, step)
        found = np.fromiter(ends, np.int64)
        if places is not None:
            found = places[found - 1]
        return np.concatenate([np.zeros(1, np.int64), found])

    return Cut(boundaries=boundaries, splits=splits, characters=steps)


def _within(text: str, ends: Iterable[int], step: Characters) -> Iterator[int]:
    """The pieces that a step leaves of those that end there."""
    start = 0
    for end in ends:
        if end - start > 1:
            yield from (start + inner for inner in step(text[start:end]))
        else:
            yield end
        start = end


def _sizes(text: str) -> "NDArray[np.int64]":
    """Bytes of each character, int64 [characters]; what stands for an invalid byte has one."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return sizes
