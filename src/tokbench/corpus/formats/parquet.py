"""Parquet files: a row is a record, a column a field. A file is divided between its row groups."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, chain, count
from pathlib import Path
from typing import Any, Literal

from tokbench.corpus.columns import FieldColumns
from tokbench.corpus.formats import corpus_format
from tokbench.corpus.reading import REMEDY_OF_FILE, Reading, ReadSpan, Row, RowFields
from tokbench.corpus.sources import RecordSource
from tokbench.io.parquet import batches, column_names, parquet

MAGIC = b"PAR1"
"""First bytes of a file."""


class ParquetSource(RecordSource):
    """Parquet files with a text column (string or binary), one document per row, or split further."""

    type: Literal["parquet"]


@corpus_format(
    "parquet",
    label="Parquet",
    endings=(".parquet",),
    options=ParquetSource,
    begins=lambda head: head.startswith(MAGIC),
    divisible=True,
    fields_in=column_names,
    cites=(),
)
def read_parquet(path: Path, fields: RowFields, source: Any, reading: Reading) -> Iterator[Row]:
    """Read the rows of a Parquet file. Arrow reads each text completely."""
    with parquet(path, "readable as Parquet", REMEDY_OF_FILE, in_pieces=True) as file:
        columns = FieldColumns(path, file.schema_arrow, fields)
        groups = row_groups(file.metadata, reading.span)
        numbers = count(1 + sum(file.metadata.row_group(group).num_rows for group in range(groups.start)))

        def rows(batch: Any) -> Iterator[Row]:
            cells = {field: columns.column(batch, field) for field in columns.fields}
            return columns.rows(cells, "row", numbers, reading)

        yield from chain.from_iterable(map(rows, batches(file, columns.fields, groups=groups)))


def row_groups(about: Any, span: ReadSpan) -> range:
    """Return the row groups of a file within a range of its bytes, from its metadata.

    A group belongs to the range in which it begins, so consecutive ranges neither overlap nor skip a group.
    """
    groups = about.num_row_groups
    ends = list(accumulate((about.row_group(group).total_byte_size for group in range(groups)), initial=0))
    first, last = (
        groups if share == 1 else min(groups, bisect_left(ends, share * ends[-1])) for share in (span.begin, span.end)
    )
    return range(first, last)
