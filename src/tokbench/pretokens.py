"""Pre-token counts: the one artefact that feeds every trainer and every count-based metric.

Stored as Parquet (``pretoken``: binary, ``count``: int64; the scheme in the file's metadata) in a canonical order,
count descending and bytes ascending, so that equal corpora give equal files whatever the number of shards or
threads. Also read from TSV, one ``hex<TAB>count`` a line.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tokbench.registry import TokbenchError
from tokbench.whole import whole_file

SCHEME_KEY = "tokbench.scheme"


@dataclass(frozen=True, slots=True, eq=False)
class PretokenCounts:
    """Unique pre-tokens of a text and how often each occurs.

    Attributes:
        data: uint8 [bytes], the pre-tokens laid end to end.
        offsets: int64 [n + 1], where each pre-token starts in ``data``; the last entry is its length.
        counts: int64 [n], occurrences, all positive.
        scheme: the pre-tokenization that cut the text, or None where the file does not say.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    scheme: str | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """Pre-tokens of the text: the sum of the counts."""
        return int(self.counts.sum())

    @property
    def total_bytes(self) -> int:
        """Bytes of the text: lengths times counts."""
        return int(np.diff(self.offsets) @ self.counts)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Each pre-token with its count, in canonical order."""
        buffer = self.data.tobytes()
        ends = self.offsets.tolist()
        for start, end, count in zip(ends, ends[1:], self.counts.tolist(), strict=False):
            yield buffer[start:end], count

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, scheme: str | None = None) -> "PretokenCounts":
        """Merge, order and flatten a frame with columns ``pretoken`` (binary) and ``count`` (integer)."""
        merged = (
            frame.filter(pl.col("pretoken").bin.size() > 0)
            .group_by("pretoken")
            .agg(pl.col("count").cast(pl.Int64).sum())
            .filter(pl.col("count") > 0)
            .sort(["count", "pretoken"], descending=[True, False])
        )
        column = merged["pretoken"].to_arrow().cast(pa.large_binary())
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        _, offsets, data = column.buffers()
        starts = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
        size = int(starts[-1]) if len(starts) else 0
        values = np.frombuffer(data, dtype=np.uint8)[:size] if size else np.empty(0, np.uint8)
        if not len(starts):
            starts = np.zeros(1, np.int64)
        return cls(values, starts, merged["count"].to_numpy().astype(np.int64), scheme)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[bytes, int]], scheme: str | None = None) -> "PretokenCounts":
        """Counts from (pre-token, count) pairs in any order; repeated pre-tokens are added up."""
        rows = list(pairs)
        frame = pl.DataFrame(
            {"pretoken": [token for token, _ in rows], "count": [count for _, count in rows]},
            schema={"pretoken": pl.Binary, "count": pl.Int64},
        )
        return cls.from_frame(frame, scheme)

    def to_frame(self) -> pl.DataFrame:
        """Columns ``pretoken`` and ``count``, in canonical order."""
        offsets = pa.py_buffer(np.ascontiguousarray(self.offsets))
        data = pa.py_buffer(np.ascontiguousarray(self.data))
        column = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self), [None, offsets, data])
        return pl.DataFrame({"pretoken": pl.Series(column, dtype=pl.Binary), "count": self.counts})

    def write(self, path: Path | str) -> None:
        """Write Parquet, whole or not at all."""
        metadata = {SCHEME_KEY: self.scheme} if self.scheme else None
        with whole_file(path) as partial:
            self.to_frame().write_parquet(partial, compression="zstd", metadata=metadata)

    @classmethod
    def read(cls, path: Path | str) -> "PretokenCounts":
        """Read Parquet, or TSV ``hex<TAB>count`` when the name does not end in ``.parquet``.

        Raises:
            TokbenchError: the file is missing or is neither; the message names the file and the line.
        """
        path = Path(path)
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of pre-token counts; make one with 'tokbench count'")
        if path.suffix != ".parquet":
            return cls.from_pairs(_read_tsv(path))
        try:
            frame = pl.read_parquet(path, columns=["pretoken", "count"])
            scheme = pl.read_parquet_metadata(path).get(SCHEME_KEY)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise TokbenchError(f"{path}: not a readable file of pre-token counts ({reason}); make it again") from error
        return cls.from_frame(frame, scheme)


def _read_tsv(path: Path) -> Iterator[tuple[bytes, int]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                token, count = line.rstrip("\r\n").split("\t")
                pair = bytes.fromhex(token), int(count)
                if pair[1] < 0:
                    raise ValueError
            except ValueError:
                raise TokbenchError(f"{path}:{number}: expected 'hex<TAB>count', found {line.strip()[:60]!r}") from None
            yield pair
