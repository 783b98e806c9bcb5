"""One measured number and what it means.

The tokens of vocabularies as sets that can be compared.

Rows of very many things, taken together with their neighbours: sums over groups vary as the things do.

How far a number is moved by the choice of what it was measured on can be told only from what each of these gives. A
thousand groups tell as much as all of them, and tables stay small. Things that stand beside each other are often alike,
such as the forms of one word: in a group they count once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.vocabulary import Vocabulary

ADDED, DROPPED = "(added)", "(dropped)"
"""How definitions mark the tokens that a vocabulary has and its baseline lacks, and those that it lacks."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table of intrinsic metrics.

    Attributes:
        metric: name, the same for every definition of one quantity.
        definition: which word, which denominator; the same text for every tokenizer, so that rows can be compared.
        value: the number, or None where it cannot be had.
        n: how many things the number is over (tokens, types or pre-tokens; see the definition).
        reason: why there is no value; None where there is one.
    """

    metric: str
    definition: str
    value: float | None
    n: int
    reason: str | None = None


def ratio(metric: str, definition: str, numerator: float, denominator: int, reason: str) -> Measurement:
    """``numerator / denominator`` over ``denominator`` things; no value, for the given reason, when there are none."""
    if denominator == 0:
        return Measurement(metric, definition, None, 0, reason)
    return Measurement(metric, definition, numerator / denominator, denominator)


Form = tuple[bytes, bool]
"""A token, and whether it stands inside a pre-token."""


def token_set(vocabulary: Vocabulary, *, single_bytes: bool = True) -> frozenset[Form]:
    """The tokens as a set; a token inside a pre-token and one at its start are two where the vocabulary parts them."""
    continuation = vocabulary.continuation
    inside = [False] * len(vocabulary) if continuation is None else continuation.tolist()
    pairs = zip(vocabulary.tokens, inside, strict=True)
    return frozenset((token, inner) for token, inner in pairs if single_bytes or len(token) > 1)


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
