"""Compilation of patterns to scanners, from parsing to tables of the kernel; the package describes the steps."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.pattern import PatternScanner
from tokbench.kernels.scan import Scanner
from tokbench.pretokenization.patterns.automaton import Automaton, Classes
from tokbench.pretokenization.patterns.borders import borders_of, is_linear, settled_pairs
from tokbench.pretokenization.patterns.masks import masks_of
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokenization.patterns.sequence import automaton_of_sequence

ENDS = np.uint32(1 << 31)


def compile_scanner(pattern: str | Sequence[str]) -> Scanner | None:
    """Return the scanner of a pattern, or of several that are applied in turn, each to the pieces of the one before.

    Args:
        pattern: a regular expression in the syntax of the ``regex`` package without flags, or several.

    Returns:
        None if the pattern is outside the compiled language.
    """
    return _compile((pattern,) if isinstance(pattern, str) else tuple(pattern))


@lru_cache(maxsize=256)
def _compile(patterns: tuple[str, ...]) -> Scanner | None:
    try:
        automaton = automaton_of_sequence(patterns)
    except (LanguageError, RecursionError):
        return None
    return _scanner(automaton) if is_linear(automaton) else None


def _scanner(automaton: Automaton) -> PatternScanner:
    symbols = automaton.symbols
    classes = range(symbols.classes.count)
    steps = np.array(automaton.targets, np.uint32)
    for state, ends in enumerate(automaton.ends):
        for symbol in range(symbols.count):
            if ends >> symbol & 1:
                steps[state, symbol] |= ENDS
    settled = [[after >> number & 1 for number in classes] for after in settled_pairs(automaton)]
    index, blocks = _by_code_point(symbols.classes)
    masks = masks_of(automaton, borders_of(automaton))
    return PatternScanner(
        index,
        blocks,
        steps,
        np.array(automaton.worlds, np.uint8),
        np.array(settled, np.uint8),
        -1 if symbols.final is None else symbols.final,
        np.array(masks.loads if masks else [], np.int32),
        np.array(masks.operations if masks else [], np.int32),
        (masks.always, masks.open, masks.hazards, masks.reach) if masks else (0, 0, 0, 1),
    )


def _by_code_point(classes: Classes) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the class of each code point as a two-level table: block numbers [4352], and blocks [n, 256]."""
    starts, numbers = np.array(classes.runs).T
    lengths = np.diff([*starts.tolist(), 0x110000])
    pages = np.repeat(numbers.astype(np.uint8), lengths).reshape(-1, 256)
    numbers_of_pages: dict[bytes, int] = {}
    index = [numbers_of_pages.setdefault(row.tobytes(), len(numbers_of_pages)) for row in pages]
    return np.array(index, np.uint16), np.frombuffer(b"".join(numbers_of_pages), np.uint8).reshape(-1, 256)
