"""Files of counts read a batch at a time."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.inputs.files import is_parquet
from tokbench.inputs.parquet import parquet, pieces
from tokbench.pretokens import columns, read_tsv, scheme_of

Arrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]
BATCH = 1 << 16
"""Rows read at a time."""


def read_parts(path: Path | str) -> tuple[str | None, Iterator[tuple[str, Arrays]]]:
    """The pre-tokenization of a file of counts, and its rows by language in the arrays of ``PretokenCounts.merged``.

    Raises:
        TokbenchError: the file is missing or holds no counts; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise TokbenchError(f"{path}: no such file of pre-token counts; make one with 'tokbench count'")
    if not is_parquet(path):
        return None, _of_tsv(path)
    with _opened(path) as file:
        return scheme_of(file.schema_arrow), _of_parquet(path)


def _opened(path: Path) -> AbstractContextManager[pq.ParquetFile]:
    return parquet(path, "a readable file of pre-token counts", "make it again", in_pieces=True)


def _of_tsv(path: Path) -> Iterator[tuple[str, Arrays]]:
    pairs = read_tsv(path)
    while rows := list(islice(pairs, BATCH)):
        data = np.frombuffer(b"".join(token for token, _ in rows), np.uint8)
        offsets = np.cumsum([0, *(len(token) for token, _ in rows)], dtype=np.int64)
        yield "", (data, offsets, np.array([count for _, count in rows], np.int64))


def _of_parquet(path: Path) -> Iterator[tuple[str, Arrays]]:
    with _opened(path) as file:
        present = [name for name in ("language", "pretoken", "count") if name in file.schema_arrow.names]
        for batch in pieces(file, present, BATCH):
            table = pa.Table.from_batches([batch])
            if "language" not in present:
                yield "", columns(table)
                continue
            tags = table["language"].cast(pa.string())
            if tags.null_count:
                raise ValueError("a language is missing")
            for language in sorted(pc.unique(tags).to_pylist()):
                yield language, columns(table.filter(pc.equal(tags, language)))
