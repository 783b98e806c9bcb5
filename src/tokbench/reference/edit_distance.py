"""Edit distance by its recursion over the full table."""

from collections.abc import Sequence


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the fewest insertions, deletions and replacements that change one sequence into the other.

    >>> edit_distance(b'shells', b'sells')
    1
    """
    row = list(range(len(second) + 1))
    for left in first:
        before, row = row, [row[0] + 1]
        for place, right in enumerate(second):
            row.append(min(row[-1] + 1, before[place + 1] + 1, before[place] + (left != right)))
    return row[-1]
