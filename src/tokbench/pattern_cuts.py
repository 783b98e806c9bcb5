"""Cutting by regular expressions: by a scanner where they are compiled, by searching where they are not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.scan import Scanner, boundaries


class Boundaries(Protocol):
    """How a pre-tokenization without options is called."""

    def __call__(self, text: bytes) -> NDArray[np.int64]:
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
    from tokbench.splitting import cut_by_characters, search

    return cut_by_characters(*map(search, patterns), splits=patterns)


def cut_by_scanner(*patterns: str) -> Cut | None:
    """The same without a call into Python; None where a pattern is not of the language that is compiled."""
    from tokbench.patterns import scanner_of

    scanner = scanner_of(patterns)
    if scanner is None:
        return None
    return Cut(boundaries=partial(boundaries, scanner), splits=patterns, scanner=scanner)
