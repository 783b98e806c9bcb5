"""Write kept tables again in as few bytes as Parquet has for them: ``python tools/pack_tables.py FILE...``.

Most of what they hold are floating-point numbers whose last digits nothing compresses; taken apart byte by byte, the
bytes of signs and exponents are (encoding BYTE_STREAM_SPLIT). Whether that, a dictionary or neither is the shortest is
tried for each column. What is read is the same to the last bit.
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
"""The most that zstd has."""


def pack(path: Path) -> int:
    """Write a table again where that makes it smaller.

    Returns:
        The bytes that were saved.

    Raises:
        ValueError: it would not be read as before; the table stays as it is.
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
        raise ValueError(f"{path}: its types do not come back from Parquet as pyarrow writes it")
    return 0


def shortest(column: pa.Table) -> str:
    """How a table of one column takes the fewest bytes: ``dictionary``, ``plain`` or ``split``, the first of equals."""
    [field] = column.schema
    split = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    sizes = {}
    for way in ("dictionary", "plain", *["split"] * split):
        written = BytesIO()
        write(column, written, {field.name: way})
        sizes[way] = written.tell()
    return min(sizes, key=sizes.__getitem__)


def write(table: pa.Table, where: Any, ways: dict[str, str]) -> None:
    """Write a table, each column as is said of it."""
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
