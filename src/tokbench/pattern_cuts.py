"""Cutting by regular expressions: by a scanner where they are compiled, by searching where they are not."""

from functools import partial

from tokbench.kernels.scan import boundaries
from tokbench.patterns import scanner_of
from tokbench.pretokenization import Cut


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
    scanner = scanner_of(patterns)
    if scanner is None:
        return None
    return Cut(boundaries=partial(boundaries, scanner), splits=patterns, scanner=scanner)
