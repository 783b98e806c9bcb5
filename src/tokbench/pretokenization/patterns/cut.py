"""Splitting of text by regular expressions, applied in turn, each to every piece of the one before.

Matches are pieces, and so is the text between two matches, as in ``Split`` of the ``tokenizers`` library with behaviour
``isolated``. Patterns have the syntax of the ``regex`` package. A byte outside valid UTF-8 is one character, neither
letter, number nor whitespace: ``regex`` reads it as a lone surrogate, U+DC80 to U+DCFF.

A compiled pattern is applied by a scanner, another one by a search.
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

Characters = Callable[[str], Iterable[int]]
"""Function from a text to the ends of its pieces in characters, ascending; the last is its length."""
PATIENCE = 10.0
"""Seconds that a pattern may need for any text."""
SLOWEST = 20_000
"""Characters for which a pattern may need one more second; usual patterns process millions."""
PROBES = ("", "Ab's 1\u00b2, \n\t\u00e9\u4e2d!")
"""Texts that a pattern is tested on before use."""
MAX_SHOWN = 20
"""Characters of a text that a message shows."""


class Boundaries(Protocol):
    """Signature of a pre-tokenization without options."""

    def __call__(self, text: bytes) -> "NDArray[np.int64]":
        """Return the boundaries of pre-tokens: int64 [n + 1], from 0 to the length; ``[0]`` for an empty text.

        Each byte that is not valid UTF-8 counts as a character that is neither space, letter nor number.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Splitting functions of a pre-tokenization with given options.

    Attributes:
        boundaries: function from bytes to the boundaries of pre-tokens.
        splits: equivalent regular expressions on text, each applied to every piece of the one before; matches are
            pieces, and so is the text between them. Empty if documents are not split, None if no expressions are
            equivalent.
        scanner: scanner for kernels, which needs no call into Python; None if kernels call ``boundaries``.
        characters: equivalent functions for ``splits``, each from text to the ends of its pieces in characters. None if
            the pre-tokenization works on bytes.
        modules: modules of other pre-tokenizations that it calls.
    """

    boundaries: Boundaries
    splits: tuple[str, ...] | None = None
    scanner: Scanner | None = None
    characters: tuple[Callable[[str], Iterable[int]], ...] | None = None
    modules: tuple[str, ...] = ()


def cut_by_patterns(*patterns: str) -> Cut:
    """Return a cut by patterns in turn, each applied to every piece of the one before.

    Raises:
        ValueError: a pattern is invalid, or matches the empty string.
    """
    scanned = cut_by_scanner(*patterns)
    if scanned is not None:
        return scanned

    return cut_by_functions(*map(regex_cut, patterns), splits=patterns)


def cut_by_scanner(*patterns: str) -> Cut | None:
    """Return a cut by a compiled scanner; None if a pattern is outside the compiled language."""
    from tokbench.pretokenization.patterns.scanner import compile_scanner

    scanner = compile_scanner(patterns)
    if scanner is None:
        return None
    return Cut(boundaries=partial(boundaries, scanner), splits=patterns, scanner=scanner)


def expression_of(pattern: str) -> "regex.Pattern[str]":
    """Compile a regular expression.

    Raises:
        ValueError: the pattern is invalid.
    """
    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about syntax whose meaning a later version of the package may change
            return regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is not a regular expression ({error}); correct it") from None


def matches_nothing(expression: "regex.Pattern[str]") -> bool:
    """Return whether an expression matches the empty string in a probe text."""
    return any(match.end() == match.start() for text in PROBES for match in expression.finditer(text))


@cache
def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern that splits texts; cached.

    Raises:
        ValueError: it is invalid, or matches the empty string in a probe text.
    """
    expression = expression_of(pattern)
    if matches_nothing(expression):
        raise ValueError("matches the empty string, which splits nothing; let it match a character or more")
    return expression


def regex_cut(pattern: str) -> Characters:
    """Return a function that splits text by a pattern.

    The function raises TokbenchError if the pattern matches the empty string in its text, or needs too long.

    Raises:
        ValueError: see :func:`compile_pattern`.
    """
    expression = compile_pattern(pattern)
    name = f"pattern '{shortened(pattern)}'"

    def ends(text: str) -> Iterator[int]:
        allowed = PATIENCE + len(text) / SLOWEST
        end = 0
        try:
            # Text between two matches is a pre-token, too.
            for match in expression.finditer(text, timeout=allowed):
                start, stop = match.span()
                if start > end:
                    yield start
                if stop == start:
                    place = shortened(text[start : start + MAX_SHOWN], MAX_SHOWN)
                    raise TokbenchError(f"{name}: matches the empty string before '{place}'; let it match a character")
                yield stop
                end = stop
        except TimeoutError:
            place = shortened(text[end : end + MAX_SHOWN], MAX_SHOWN)
            raise TokbenchError(
                f"{name}: needs more than {allowed:.0f} s for {len(text):,} characters and is at '{place}'; "
                "avoid a repetition within another"
            ) from None
        if end < len(text):
            yield len(text)

    return ends


def cut_by_functions(
    *steps: Characters, splits: tuple[str, ...] | None, first: Boundaries | None = None, done: int = 0
) -> Cut:
    """Return a cut that applies steps in turn, each to every piece of the one before.

    Args:
        steps: one function or more.
        splits: equivalent patterns.
        first: equivalent function on bytes for the first ``done`` steps, which are then skipped.
        done: number of steps that ``first`` replaces.
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
            ends = _apply_step(characters, ends, step)
        bounds_in_characters = np.fromiter(ends, np.int64)
        if places is not None:
            bounds_in_characters = places[bounds_in_characters - 1]
        return np.concatenate([np.zeros(1, np.int64), bounds_in_characters])

    return Cut(boundaries=boundaries, splits=splits, characters=steps)


def _apply_step(text: str, ends: Iterable[int], step: Characters) -> Iterator[int]:
    """Yield the ends of pieces after a step is applied to each piece."""
    start = 0
    for end in ends:
        if end - start > 1:
            yield from (start + inner for inner in step(text[start:end]))
        else:
            yield end
        start = end


def _sizes(text: str) -> "NDArray[np.int64]":
    """Return the bytes of each character, int64 [characters]; a surrogate of an invalid byte has one."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return sizes
