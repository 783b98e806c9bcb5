"""Write kept tables again in as few bytes as Parquet has for them: ``python tools/pack_tables.py FILE...``.

Most of what they hold are floating-point numbers whose last digits nothing compresses; taken apart byte by byte, the
bytes of signs and exponents are (encoding BYTE_STREAM_SPLIT). What is read is the same to the last bit.
"""

import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

SPLIT = "BYTE_STREAM_SPLIT"
LEVEL = 22
"""The most that zstd has."""


def pack(path: Path) -> int:
    """Write a table anew where that makes it smaller.

    Returns:
        The bytes that were saved.

    Raises:
        ValueError: it would not be read as before; the table stays as it is.
    """
    table = pq.read_table(path)
    numbers = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(
        table,
        unfinished,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[name for name in table.schema.names if name not in numbers],
        column_encoding=dict.fromkeys(numbers, SPLIT),
        write_statistics=False,
        store_schema=False,
    )
    before, after = pl.read_parquet(path), pl.read_parquet(unfinished)
    saved = path.stat().st_size - unfinished.stat().st_size
    if after.schema == before.schema and after.equals(before) and saved > 0:
        unfinished.replace(path)
        return saved
    unfinished.unlink()
    if saved > 0:
        raise ValueError(f"{path}: its types do not come back from Parquet as pyarrow writes it")
    return 0


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {pack(Path(name)):,} bytes less")
