"""Rows of very many things, taken together with their neighbours: sums over groups vary as the things do.

How far a number is moved by the choice of what it was measured on can be told only from what each of these gives. A
thousand groups tell as much as all of them, and tables stay small. Things that stand beside each other are often alike,
such as the forms of one word: in a group they count once.
"""

import numpy as np
from numpy.typing import NDArray

MOST = 1000
"""Groups at most; so many things or fewer stand alone."""


def in_groups(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows, or those of :data:`MOST` groups of neighbours where they are more.

    Args:
        rows: int64 [things, columns]; the first column names a thing, the others are added up.

    Returns:
        int64 [groups, columns]; a group has the name of its first thing.
    """
    if len(rows) <= MOST:
        return rows
    starts = np.arange(MOST) * len(rows) // MOST
    return np.column_stack([rows[starts, 0], np.add.reduceat(rows[:, 1:], starts)])
