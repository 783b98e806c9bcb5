"""How much memory is needed by what reads counts, told before it begins, from what was measured of it.

``needs.csv`` holds for each construction and stage that reads counts what a process took at its most: ``base_bytes``,
``bytes_per_pretoken`` for each unique pre-token, ``bytes_per_byte`` for each byte of these, and ``bytes_per_place`` for
each place where a substring of two bytes or more stands in them. ``python benchmarks/memory.py src/tokbench/needs.csv``
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
    """What a construction or a stage takes at its most.

    Attributes:
        base: bytes, whatever it is built from.
        per_pretoken: bytes for each unique pre-token.
        per_byte: bytes for each byte of the unique pre-tokens.
        per_place: bytes for each place of a substring in them.
    """

    base: float
    per_pretoken: float
    per_byte: float
    per_place: float = 0.0

    def bytes(self, pretokens: int, size: int, places: int) -> float:
        """For so many unique pre-tokens of so many bytes in all, with so many places."""
        return self.base + self.per_pretoken * pretokens + self.per_byte * size + self.per_place * places


@dataclass(frozen=True, slots=True)
class CountProfile:
    """How much there is of a text at least so frequent; all exact.

    Attributes:
        thresholds: int64 [t], counts, ascending.
        pretokens: int64 [t], unique pre-tokens of at least that count.
        sizes: int64 [t], bytes of those.
        places: int64 [t], places of substrings in those.
        total: int64 [t], their occurrences.
        total_bytes: int64 [t], bytes of the text that they make up.
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
        least: int = 1,
        longest: int | None = None,
        max_pretoken_bytes: int | None = None,
    ) -> "CountProfile":
        """Of batches of lengths and counts, at 1, at ``least`` and at every power of two above it.

        Args:
            batches: int64 [n] and int64 [n] each.
            least: the count that pre-tokens have at least.
            longest: bytes of the longest substring that is looked at; no limit when None.
            max_pretoken_bytes: longest pre-token that takes part; no limit when None.
        """
        powers = [1 << power for power in range(POWERS)]
        thresholds = np.array(sorted({1, least, *(power for power in powers if power > least)}), np.int64)
        sums = np.zeros((5, len(thresholds)), np.int64)
        for lengths, counts in batches:
            place = np.searchsorted(thresholds, counts, side="right") - 1
            seen = place >= 0 if max_pretoken_bytes is None else (place >= 0) & (lengths <= max_pretoken_bytes)
            place, lengths, counts = place[seen], lengths[seen], counts[seen]
            for row, values in enumerate(
                (np.ones_like(counts), lengths, places_of(lengths, longest), counts, lengths * counts)
            ):
                np.add.at(sums[row], place, values)
        return cls(thresholds, *np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])


def places_of(lengths: NDArray[np.int64], longest: int | None = None) -> NDArray[np.int64]:
    """Int64 [n], in how many places substrings of two bytes or more, and ``longest`` at most, stand in words."""
    reach = lengths if longest is None else np.minimum(lengths, longest)
    shortest_first = np.maximum(reach - 1, 0)
    return shortest_first * lengths - reach * shortest_first // 2


def require(names: Iterable[str], profile: CountProfile, least: int, megabytes: int, *, whole: bool = False) -> None:
    """End where more memory would be taken than allowed; what was not measured is not judged.

    Args:
        names: the construction, and that of the vocabulary that it starts from; or a stage.
        profile: of the counts that it is built from.
        least: the count that pre-tokens have at least.
        megabytes: what is allowed, of 1,000,000 bytes.
        whole: whether no pre-token can be left out.

    Raises:
        TokbenchError: it needs more; the line says how much, and what could be left out.
    """
    known = [(name, table()[name]) for name in names if name in table()]
    if not known:
        return
    needs = [
        max((need.bytes(int(pretokens), int(size), int(places)), name) for name, need in known)
        for pretokens, size, places in zip(profile.pretokens, profile.sizes, profile.places, strict=True)
    ]
    places = [place for place, threshold in enumerate(profile.thresholds) if threshold >= least]
    need, name = needs[places[0]]
    if need <= megabytes * MEGABYTE:
        return
    wanted = f"'{name}' needs about {_megabytes(need)} MB for {profile.pretokens[places[0]]:,} unique pre-tokens"
    fitting = next((place for place in places if needs[place][0] <= megabytes * MEGABYTE), None)
    if whole or fitting is None or not profile.pretokens[fitting]:
        raise TokbenchError(f"--memory {megabytes}: {wanted}; allow that much")
    raise TokbenchError(
        f"--memory {megabytes}: {wanted}; allow that much, or set min_count {profile.thresholds[fitting]}, which takes "
        f"about {_megabytes(needs[fitting][0])} MB and leaves out {_share(profile.total, fitting)} of the pre-tokens "
        f"and {_share(profile.total_bytes, fitting)} of the bytes of the text"
    )


def of_languages(name: str, apart: bool) -> str:
    """The name under which a stage was measured on counts that keep languages apart, or do not."""
    named = f"{name}_languages"
    return named if apart and named in table() else name


@cache
def table() -> dict[str, MemoryCoefficients]:
    """What was measured, by the name of the construction or stage."""
    with Path(__file__).with_name(TABLE).open(encoding="utf-8", newline="") as lines:
        return {
            row["reader"]: MemoryCoefficients(*(float(row[column]) for column in COLUMNS))
            for row in csv.DictReader(lines)
        }


def _megabytes(size: float) -> str:
    return f"{-(-int(size) // MEGABYTE):,}"


def _share(totals: NDArray[np.int64], place: int) -> str:
    return f"{1 - int(totals[place]) / int(totals[0]):.2%}"


def most(names: Iterable[str], pretokens: int, size: int, places: int) -> float | None:
    """Bytes that the most needing of some methods takes for so many unique pre-tokens of so many bytes with so many
    places; None where none was measured."""
    found = [table()[name].bytes(pretokens, size, places) for name in names if name in table()]
    return max(found, default=None)
