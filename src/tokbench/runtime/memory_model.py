"""Estimates of the memory needed to read pre-token counts, from measured coefficients.

``needs.csv`` lists the peak memory of each construction and stage that reads counts: ``base_bytes``,
``bytes_per_pretoken`` for each unique pre-token, ``bytes_per_byte`` for each byte of these, and ``bytes_per_place`` for
each occurrence of a substring of two bytes or more in them. ``python benchmarks/memory.py src/tokbench/needs.csv``
measures it again.
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
COLUMNS = ("base_bytes", "bytes_per_pretoken", "bytes_per_byte", "bytes_per_place")


@dataclass(frozen=True, slots=True)
class MemoryCoefficients:
    """Peak memory of a construction or a stage.

    Attributes:
        base: bytes that do not depend on the counts.
        per_pretoken: bytes per unique pre-token.
        per_byte: bytes per byte of the unique pre-tokens.
        per_place: bytes per occurrence of a substring in them (default: 0).
    """

    base: float
    per_pretoken: float
    per_byte: float
    per_place: float = 0.0

    def bytes(self, pretokens: int, size: int, places: int) -> float:
        """Return the peak memory for this number of unique pre-tokens, of their bytes and of substring occurrences."""
        return self.base + self.per_pretoken * pretokens + self.per_byte * size + self.per_place * places


@dataclass(frozen=True, slots=True)
class CountProfile:
    """Size of the counts above each minimum frequency; all numbers are exact.

    Attributes:
        thresholds: minimum counts, int64 [t], ascending.
        pretokens: unique pre-tokens of at least that count, int64 [t].
        sizes: bytes of those, int64 [t].
        places: occurrences of substrings in those, int64 [t].
        total: occurrences of those in the text, int64 [t].
        total_bytes: bytes of these occurrences, int64 [t].
    """

    thresholds: NDArray[np.int64]
    pretokens: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    total: NDArray[np.int64]
    total_bytes: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        batches: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
        min_count: int = 1,
        longest: int | None = None,
        max_pretoken_bytes: int | None = None,
    ) -> "CountProfile":
        """Compute the profile at 1, at ``min_count`` and at every power of two above it.

        Args:
            batches: lengths and counts of pre-tokens, int64 [n] each.
            min_count: minimum count of pre-tokens (default: 1).
            longest: maximum bytes of a substring (default: no limit).
            max_pretoken_bytes: maximum bytes of a pre-token; longer ones are ignored (default: no limit).
        """
        powers = [1 << power for power in range(POWERS)]
        thresholds = np.array(sorted({1, min_count, *(power for power in powers if power > min_count)}), np.int64)
        sums = np.zeros((5, len(thresholds)), np.int64)
        for lengths, counts in batches:
            place = np.searchsorted(thresholds, counts, side="right") - 1
            counted = place >= 0 if max_pretoken_bytes is None else (place >= 0) & (lengths <= max_pretoken_bytes)
            place, lengths, counts = place[counted], lengths[counted], counts[counted]
            for row, values in enumerate(
                (np.ones_like(counts), lengths, places_of(lengths, longest), counts, lengths * counts)
            ):
                np.add.at(sums[row], place, values)
        return cls(thresholds, *np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])


def places_of(lengths: NDArray[np.int64], longest: int | None = None) -> NDArray[np.int64]:
    """Return the number of substrings of 2 to ``longest`` bytes in words of these lengths, int64 [n]."""
    reach = lengths if longest is None else np.minimum(lengths, longest)
    shortest_first = np.maximum(reach - 1, 0)
    return shortest_first * lengths - reach * shortest_first // 2


def require(
    names: Iterable[str], profile: CountProfile, min_count: int, megabytes: int, *, whole: bool = False
) -> None:
    """Raise an error if more memory is needed than allowed; methods without measurements are accepted.

    Args:
        names: the construction and that of its initial vocabulary, or a stage.
        profile: profile of the counts.
        min_count: minimum count of pre-tokens.
        megabytes: limit in units of 1,000,000 bytes.
        whole: no pre-token can be left out (default: no).

    Raises:
        TokbenchError: more is needed; the message gives the amount, and a minimum count that fits the limit.
    """
    known = [(name, table()[name]) for name in names if name in table()]
    if not known:
        return
    needs = [
        max((need.bytes(int(pretokens), int(size), int(places)), name) for name, need in known)
        for pretokens, size, places in zip(profile.pretokens, profile.sizes, profile.places, strict=True)
    ]
    places = [place for place, threshold in enumerate(profile.thresholds) if threshold >= min_count]
    need, name = needs[places[0]]
    if need <= megabytes * MEGABYTE:
        return
    demand = f"'{name}' needs about {_megabytes(need)} MB for {profile.pretokens[places[0]]:,} unique pre-tokens"
    fitting = next((place for place in places if needs[place][0] <= megabytes * MEGABYTE), None)
    if whole or fitting is None or not profile.pretokens[fitting]:
        raise TokbenchError(f"--memory {megabytes}: {demand}; allow that much")
    raise TokbenchError(
        f"--memory {megabytes}: {demand}; allow that much, or set min_count {profile.thresholds[fitting]}, which takes "
        f"about {_megabytes(needs[fitting][0])} MB and leaves out {_share(profile.total, fitting)} of the pre-tokens "
        f"and {_share(profile.total_bytes, fitting)} of the bytes of the text"
    )


def measurement_name(name: str, by_language: bool) -> str:
    """Return the name of a stage's measurement on counts with or without separate languages."""
    named = f"{name}_languages"
    return named if by_language and named in table() else name


@cache
def table() -> dict[str, MemoryCoefficients]:
    """Return the measured coefficients by the name of the construction or stage."""
    with Path(__file__).with_name(TABLE).open(encoding="utf-8", newline="") as lines:
        return {
            row["reader"]: MemoryCoefficients(*(float(row[column]) for column in COLUMNS))
            for row in csv.DictReader(lines)
        }


def _megabytes(size: float) -> str:
    return f"{-(-int(size) // MEGABYTE):,}"


def _share(totals: NDArray[np.int64], place: int) -> str:
    return f"{1 - int(totals[place]) / int(totals[0]):.2%}"


def peak_bytes(names: Iterable[str], pretokens: int, size: int, places: int) -> float | None:
    """Return the maximum of the estimates of several methods in bytes; None if none was measured.

    Args:
        names: constructions or stages.
        pretokens: number of unique pre-tokens.
        size: bytes of these.
        places: occurrences of substrings in these.
    """
    estimates = [table()[name].bytes(pretokens, size, places) for name in names if name in table()]
    return max(estimates, default=None)
