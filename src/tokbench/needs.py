"""How much memory a construction needs, told before it begins, from what was measured of it.

``needs.csv`` holds for each construction that reads counts what a process took at its most: ``base_bytes``,
``bytes_per_pretoken`` for each unique pre-token and ``bytes_per_byte`` for each byte of these. ``python
benchmarks/needs.py src/tokbench/needs.csv`` measures it again.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError

TABLE = "needs.csv"
MEGABYTE = 1_000_000
POWERS = 63


@dataclass(frozen=True, slots=True)
class Need:
    """What a construction takes at its most.

    Attributes:
        base: bytes, whatever it is built from.
        per_pretoken: bytes for each unique pre-token.
        per_byte: bytes for each byte of the unique pre-tokens.
    """

    base: float
    per_pretoken: float
    per_byte: float

    def bytes(self, pretokens: int, size: int) -> float:
        """For so many unique pre-tokens of so many bytes in all."""
        return self.base + self.per_pretoken * pretokens + self.per_byte * size


@dataclass(frozen=True, slots=True)
class Profile:
    """How much there is of a text at least so frequent; all exact.

    Attributes:
        thresholds: int64 [t], counts, ascending.
        pretokens: int64 [t], unique pre-tokens of at least that count.
        sizes: int64 [t], bytes of those.
        total: int64 [t], their occurrences.
        total_bytes: int64 [t], bytes of the text that they make up.
    """

    thresholds: NDArray[np.int64]
    pretokens: NDArray[np.int64]
    sizes: NDArray[np.int64]
    total: NDArray[np.int64]
    total_bytes: NDArray[np.int64]

    @classmethod
    def of(cls, batches: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]], least: int = 1) -> "Profile":
        """Of batches of lengths and counts, at 1, at ``least`` and at every power of two above it."""
        powers = [1 << power for power in range(POWERS)]
        thresholds = np.array(sorted({1, least, *(power for power in powers if power > least)}), np.int64)
        sums = np.zeros((4, len(thresholds)), np.int64)
        for lengths, counts in batches:
            place = np.searchsorted(thresholds, counts, side="right") - 1
            seen = place >= 0
            place, lengths, counts = place[seen], lengths[seen], counts[seen]
            for row, values in enumerate((np.ones_like(counts), lengths, counts, lengths * counts)):
                np.add.at(sums[row], place, values)
        return cls(thresholds, *np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])


def require(names: Iterable[str], profile: Profile, least: int, megabytes: int) -> None:
    """End where constructions would take more memory than allowed; those that were not measured are not judged.

    Args:
        names: the construction, and that of the vocabulary that it starts from.
        profile: of the counts that it is built from.
        least: the count that pre-tokens have at least.
        megabytes: what is allowed, of 1,000,000 bytes.

    Raises:
        TokbenchError: it needs more; the line says how much, and what could be left out.
    """
    known = [(name, table()[name]) for name in names if name in table()]
    if not known:
        return
    needs = [
        max((need.bytes(int(pretokens), int(size)), name) for name, need in known)
        for pretokens, size in zip(profile.pretokens, profile.sizes, strict=True)
    ]
    places = [place for place, threshold in enumerate(profile.thresholds) if threshold >= least]
    need, name = needs[places[0]]
    if need <= megabytes * MEGABYTE:
        return
    wanted = f"'{name}' needs about {_megabytes(need)} MB for {profile.pretokens[places[0]]:,} unique pre-tokens"
    fitting = next((place for place in places if needs[place][0] <= megabytes * MEGABYTE), None)
    if fitting is None or not profile.pretokens[fitting]:
        raise TokbenchError(f"--memory {megabytes}: {wanted}; allow that much")
    raise TokbenchError(
        f"--memory {megabytes}: {wanted}; allow that much, or set min_count {profile.thresholds[fitting]}, which takes "
        f"about {_megabytes(needs[fitting][0])} MB and leaves out {_share(profile.total, fitting)} of the pre-tokens "
        f"and {_share(profile.total_bytes, fitting)} of the bytes of the text"
    )


@cache
def table() -> dict[str, Need]:
    """What was measured, by construction."""
    with Path(__file__).with_name(TABLE).open(encoding="utf-8", newline="") as lines:
        return {
            row["construction"]: Need(
                float(row["base_bytes"]), float(row["bytes_per_pretoken"]), float(row["bytes_per_byte"])
            )
            for row in csv.DictReader(lines)
        }


def _megabytes(size: float) -> str:
    return f"{-(-int(size) // MEGABYTE):,}"


def _share(totals: NDArray[np.int64], place: int) -> str:
    return f"{1 - int(totals[place]) / int(totals[0]):.2%}"


def most(names: Iterable[str], pretokens: int, size: int) -> float | None:
    """Bytes that the most needing of some methods takes for so many unique pre-tokens of so many bytes; None where none
    was measured."""
    found = [table()[name].bytes(pretokens, size) for name in names if name in table()]
    return max(found, default=None)
