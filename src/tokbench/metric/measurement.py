"""Measurements with definitions, vocabularies as comparable sets, and grouping of long tables.

The uncertainty of a total can be estimated only from the contributions of its items. A thousand groups of neighbours
suffice for that and keep tables small. Neighbouring items are often similar, for example the forms of one word; in a
group they count once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tokbench.vocabulary import TokenList, Vocabulary

ADDED, DROPPED = "(added)", "(dropped)"
"""Marks in definitions for tokens that only the vocabulary has, and for tokens that only its baseline has."""
Form = tuple[bytes, bool]
"""A token, and True if it occurs inside a pre-token."""
MOST = 1000
"""Largest number of groups; up to this number, items are not grouped."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table of intrinsic metrics.

    Attributes:
        metric: name, the same for all definitions of one quantity.
        definition: exact definition, such as the kind of words or the denominator. It is the same text for every
            tokenizer, so that rows can be compared.
        value: the number, or None if it cannot be computed.
        n: number of items behind the value (tokens, types or pre-tokens; see the definition).
        reason: reason why there is no value, or of its omissions (default: None).
    """

    metric: str
    definition: str
    value: float | None
    n: int
    reason: str | None = None


def withhold(rows: Sequence[Measurement], reason: str) -> list[Measurement]:
    """Return the rows; without values if there is a reason, which then takes the place of theirs."""
    return [replace(row, value=None, n=0, reason=reason) if reason else row for row in rows]


def ratio(metric: str, definition: str, numerator: float, denominator: int, reason: str) -> Measurement:
    """Return ``numerator / denominator`` with ``denominator`` as n; no value but the reason if that is 0."""
    if denominator == 0:
        return Measurement(metric, definition, None, 0, reason)
    return Measurement(metric, definition, numerator / denominator, denominator)


def token_set(vocabulary: Vocabulary | TokenList, *, single_bytes: bool = True) -> frozenset[Form]:
    """Return the tokens as a set; continuation forms differ from other tokens. ``single_bytes`` defaults to True."""
    continuation = vocabulary.continuation
    inside = [False] * len(vocabulary) if continuation is None else continuation.tolist()
    pairs = zip(vocabulary.tokens, inside, strict=True)
    return frozenset((token, inner) for token, inner in pairs if single_bytes or len(token) > 1)


def in_groups(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows, or their sums over :data:`MOST` groups of neighbours if there are more.

    Args:
        rows: int64 [items, columns]; the first column names an item, the others are added.

    Returns:
        int64 [groups, columns]; a group has the name of its first item.
    """
    if len(rows) <= MOST:
        return rows
    starts = np.arange(MOST) * len(rows) // MOST
    return np.column_stack([rows[starts, 0], np.add.reduceat(rows[:, 1:], starts)])
