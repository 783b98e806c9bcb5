"""Digits in groups from the right, as numbers are read: 1234567 becomes 1, 234, 567.

A pattern such as ``\\p{N}{1,3}`` groups from the left (123, 456, 7), so that the place value of a digit varies with the
length of the number. "Tokenization counts: the impact of tokenization on arithmetic in frontier LLMs" (Singh and
Strouse, 2024) compares the two.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from collections.abc import Callable, Iterator

from pydantic import Field

from tokbench.options import Options
from tokbench.pretokenization import Cut, pretokenization


class DigitsOptions(Options):
    group: int = Field(3, ge=1, le=1000)
    """Digits of a group, default: 3; the first group of a number has the remaining digits."""


@pretokenization("digits", options=DigitsOptions, cites=("singh2024",))
def digits(options: DigitsOptions) -> Cut:
    """Digits (Nd) in groups from the right; text between numbers is one pre-token. For use in a sequence."""
    from tokbench.pretokenization.patterns.cut import cut_by_functions

    group = options.group
    alone = r"\d" if group == 1 else rf"\d{{1,{group}}}(?=(?:\d{{{group}}})*(?!\d))"
    return cut_by_functions(_groups_of(group), splits=(alone,))


def _groups_of(group: int) -> Callable[[str], Iterator[int]]:
    """Return a function that computes groups by arithmetic: a pattern would look ahead to the end of each number."""
    from tokbench.pretokenization.patterns.cut import compile_pattern

    numbers = compile_pattern(r"\d+")

    def ends(text: str) -> Iterator[int]:
        end = 0
        for match in numbers.finditer(text):
            start, stop = match.span()
            if start > end:
                yield start
            yield from range(start + ((stop - start) % group or group), stop + 1, group)
            end = stop
        if end < len(text):
            yield len(text)

    return ends
