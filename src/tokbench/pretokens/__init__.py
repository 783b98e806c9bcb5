"""Pre-token counts, the input of every trainer and every count-based metric.

Counts are stored as Parquet (``pretoken``: binary, ``count``: int64; the pre-tokenization in the file's metadata). The
order is canonical: count descending, then bytes ascending. Equal corpora give equal files for any number of shards or
threads. TSV with one ``hex<TAB>count`` per line is read as well.

pyarrow is imported only where a table is read or written, and its arrays are read through their buffers, because
``to_numpy`` imports pandas. Either import needs more memory than the counts of a large text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, shortened
from tokbench.io.text_files import is_parquet
from tokbench.kernels.count import Counter
from tokbench.pretokens.tables import SCHEME_KEY, columns, read_table, read_tsv, scheme_of, write_table

if TYPE_CHECKING:
    import pyarrow as pa

TOO_MUCH = "divide all counts by the same number"
"""Advice for counts whose sum does not fit into 63 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class PretokenCounts:
    """Unique pre-tokens of a text and their counts.

    Attributes:
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token in ``data``; the last entry is the length of ``data``.
        counts: int64 [n], positive counts. The sum of each count times the length of its pre-token plus one is at most
            2^62, so that sums over the text fit into 63 bits.
        scheme: Pre-tokenization of the text, as its setting on one line; None (default) if unknown.
        text_bytes: bytes of the text before normalization; None (default) if the pre-tokens are the text.

    Examples:
        >>> tokbench.PretokenCounts.from_pairs([(b"the", 3), (b" cat", 1)], "gpt2")
        PretokenCounts(2 unique, 4 in all, gpt2)
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    scheme: str | None = None
    text_bytes: int | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        pretokenization = "pre-tokenization not known" if self.scheme is None else shortened(self.scheme)
        return f"PretokenCounts({len(self):,} unique, {self.total:,} in all, {pretokenization})"

    @property
    def pretokenization(self) -> str | None:
        """The same as :attr:`scheme`."""
        return self.scheme

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """Number of pre-tokens of the text: the sum of the counts."""
        return int(self.counts.sum())

    @property
    def total_bytes(self) -> int:
        """Number of bytes of the text: the sum of lengths times counts."""
        return int(np.diff(self.offsets) @ self.counts)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Iterate over (pre-token, count) pairs in canonical order."""
        buffer = self.data.tobytes()
        ends = self.offsets.tolist()
        for start, end, count in zip(ends, ends[1:], self.counts.tolist(), strict=False):
            yield buffer[start:end], count

    def split_by_length(self, longest: int | None) -> tuple["PretokenCounts", "PretokenCounts"]:
        """Split into the pre-tokens of at most ``longest`` bytes and the longer ones, each in canonical order.

        Args:
            longest: Maximum length in bytes; no limit if None.
        """
        lengths = np.diff(self.offsets)
        is_short = np.ones(len(self), np.bool_) if longest is None else lengths <= longest
        return self._select(is_short, lengths), self._select(~is_short, lengths)

    def _select(self, mask: NDArray[np.bool_], lengths: NDArray[np.int64]) -> "PretokenCounts":
        if mask.all():
            return self
        offsets = np.concatenate([np.zeros(1, np.int64), lengths[mask].cumsum()])
        return PretokenCounts(self.data[np.repeat(mask, lengths)], offsets, self.counts[mask], self.scheme)

    @classmethod
    def merged(
        cls,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        pretokenization: str | None = None,
    ) -> "PretokenCounts":
        """Build counts from pre-tokens in any order. Counts of equal pre-tokens are added; empty pre-tokens and zero
        counts are dropped.

        Args:
            data: uint8 [bytes], concatenated pre-tokens.
            offsets: int64 [n + 1], start of each pre-token, ascending.
            counts: int64 [n], not negative.
            pretokenization: Pre-tokenization of the text (default: unknown).

        Raises:
            OverflowError: the sum of each count times the length of its pre-token plus one exceeds 2^62.
        """
        counter = Counter()
        counter.add_pretokens(data, offsets, counts)
        data, offsets, counts = counter.counts()
        return cls(data, offsets, counts, pretokenization)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[bytes, int]], pretokenization: str | None = None) -> "PretokenCounts":
        """Build counts from (pre-token, count) pairs in any order. Counts of equal pre-tokens are added.

        Args:
            pairs: Pre-tokens with their counts.
            pretokenization: Pre-tokenization of the text (default: unknown).

        Raises:
            TokbenchError: an item is not a pair of bytes and an integer.
        """
        if isinstance(pairs, Mapping):
            raise TokbenchError("pairs: a mapping, not pairs; pass mapping.items()")
        rows = list(pairs)
        try:
            data = np.frombuffer(b"".join(token for token, _ in rows), np.uint8)
            counts = [index(count) for _, count in rows]
        except (TypeError, ValueError):
            raise TokbenchError(
                "pairs: an item is not a pair of bytes and an integer; pass pairs such as (b'the', 3)"
            ) from None
        offsets = np.cumsum([0, *(len(token) for token, _ in rows)], dtype=np.int64)
        return cls.merged(data, offsets, np.array(counts, np.int64), pretokenization)

    def to_arrow(self) -> "pa.Table":
        """Return the columns ``pretoken`` (large binary) and ``count`` (int64); metadata names the pre-tokenization."""
        import pyarrow as pa

        offsets, data, counts = (
            pa.py_buffer(np.ascontiguousarray(part)) for part in (self.offsets, self.data, self.counts)
        )
        pretokens = pa.Array.from_buffers(pa.large_binary(), len(self), [None, offsets, data])
        numbers = pa.Array.from_buffers(pa.int64(), len(self), [None, counts])
        metadata = {SCHEME_KEY: self.scheme} if self.scheme else None
        return pa.table({"pretoken": pretokens, "count": numbers}, metadata=metadata)

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> "PretokenCounts":
        """Build counts from the columns ``pretoken`` (binary or text) and ``count`` of a table in any order.

        Raises:
            ValueError: a column is missing or of another type, a value is null, or a count is negative.
        """
        return cls.merged(*columns(table), scheme_of(table.schema))

    def write(self, path: Path | str) -> None:
        """Write Parquet atomically."""
        write_table(self.to_arrow(), path)

    @classmethod
    def read(cls, path: Path | str) -> "PretokenCounts":
        """Read Parquet, or TSV with ``hex<TAB>count`` per line, plain or compressed.

        Raises:
            TokbenchError: the file is missing or has another format; the message names the file and the line.
        """
        path = Path(path)
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of pre-token counts; make one with 'tokbench count'")
        try:
            return read_table(path, cls.from_arrow) if is_parquet(path) else cls.from_pairs(read_tsv(path))
        except OverflowError as error:
            raise TokbenchError(f"{path}: {error}; {TOO_MUCH}") from None
