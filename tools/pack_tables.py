"""Recompression of kept Parquet tables to the smallest size: ``python tools/pack_tables.py FILE...``.

Most values are floats whose last digits are incompressible. The encoding BYTE_STREAM_SPLIT separates the bytes of each
value, so that signs and exponents can be compressed. For each column, the smallest of this encoding, a dictionary and
plain values is selected. All values stay bit-identical.
"""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

SPLIT = "BYTE_STREAM_SPLIT"
LEVEL = 22
"""Highest compression level of zstd."""


def pack(path: Path) -> int:
    """Rewrite a table if that makes it smaller.

    Returns:
        The number of bytes saved.

    Raises:
        ValueError: the rewritten table differs; the file is not changed.
    """
    table = pq.read_table(path)
    ways = {name: shortest(table.select([name])) for name in table.schema.names}
    unfinished = path.with_suffix(".unfinished")
    write(table, unfinished, ways)
    before, after = pl.read_parquet(path), pl.read_parquet(unfinished)
    saved = path.stat().st_size - unfinished.stat().st_size
    if after.schema == before.schema and after.equals(before) and saved > 0:
        unfinished.replace(path)
        return saved
    unfinished.unlink()
    if saved > 0:
        raise ValueError(f"{path}: its types change when pyarrow rewrites it")
    return 0


def shortest(column: pa.Table) -> str:
    """Return the smallest encoding of a one-column table: ``dictionary``, ``plain`` or ``split``; ties: the first."""
    [field] = column.schema
    split = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    sizes = {}
    for way in ("dictionary", "plain", *["split"] * split):
        written = BytesIO()
        write(column, written, {field.name: way})
        sizes[way] = written.tell()
    return min(sizes, key=sizes.__getitem__)


def write(table: pa.Table, where: Any, ways: dict[str, str]) -> None:
    """Write a table with the given encoding of each column."""
    pq.write_table(
        table,
        where,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[name for name, way in ways.items() if way == "dictionary"],
        column_encoding={name: SPLIT for name, way in ways.items() if way == "split"} or None,
        write_statistics=False,
        store_schema=False,
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {pack(Path(name)):,} bytes less")
