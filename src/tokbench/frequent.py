"""The pre-tokens of a text that are at least so frequent, and how much of the text the others are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.count import Counter
from tokbench.pretoken_files import read_parts
from tokbench.pretokens import TOO_MUCH, PretokenCounts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not built from.

    Attributes:
        least: the count that pre-tokens have at least.
        unique: pre-tokens that are rarer.
        pretokens: their share of the pre-tokens of the text.
        bytes: their share of its bytes.
    """

    least: int
    unique: int
    pretokens: float
    bytes: float

    def recipe(self) -> dict[str, Any]:
        """As a tokenizer's origin tells it."""
        shares = {"unique_pretokens": self.unique, "pretokens": self.pretokens, "bytes": self.bytes}
        return {"min_count": self.least, "left_out": shares}

    def line(self) -> str:
        return (
            f"left out {self.unique:,} unique pre-tokens seen less than {self.least:,} times: "
            f"{self.pretokens:.2%} of the pre-tokens and {self.bytes:.2%} of the bytes of the text"
        )


def read_frequent(path: Path | str, least: int) -> tuple[PretokenCounts, LeftOut]:
    """The pre-tokens of a file of counts that occur ``least`` times or more.

    Of a file in canonical order the others are never held in memory.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    counter, unique, total, total_bytes, last = Counter(), 0, 0, 0, None
    scheme, parts = read_parts(path)
    for language, (data, offsets, counts) in parts:
        if language or not _descend(last, counts):
            whole = PretokenCounts.read(path)
            return _of_whole(whole, least)
        kept = int(np.searchsorted(-counts, -least, side="right"))
        try:
            counter.add_pretokens(data, offsets[: kept + 1], counts[:kept])
        except OverflowError as error:
            raise TokbenchError(f"{path}: {error}; {TOO_MUCH}") from None
        unique += int((counts > 0).sum())
        total += int(counts.sum())
        total_bytes += int(np.diff(offsets) @ counts)
        last = counts[-1] if len(counts) else last
    data, offsets, counts = counter.counts()
    found = PretokenCounts(data, offsets, counts, scheme)
    return found, _left_out(found, least, unique, total, total_bytes)


def _descend(last: Any, counts: Any) -> bool:
    return not len(counts) or ((last is None or counts[0] <= last) and bool((counts[1:] <= counts[:-1]).all()))


def _of_whole(whole: PretokenCounts, least: int) -> tuple[PretokenCounts, LeftOut]:
    kept = int(np.searchsorted(-whole.counts, -least, side="right"))
    end = whole.offsets[kept]
    found = PretokenCounts(
        whole.data[:end].copy(), whole.offsets[: kept + 1].copy(), whole.counts[:kept].copy(), whole.scheme
    )
    return found, _left_out(found, least, len(whole), whole.total, whole.total_bytes)


def _left_out(found: PretokenCounts, least: int, unique: int, total: int, total_bytes: int) -> LeftOut:
    return LeftOut(
        least,
        unique - len(found),
        1 - found.total / total if total else 0.0,
        1 - found.total_bytes / total_bytes if total_bytes else 0.0,
    )
