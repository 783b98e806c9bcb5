"""Arrow columns over bytes in memory, and arrays over Arrow columns; values are not copied.

``pyarrow.array`` and ``to_numpy`` import pandas where it is installed. That needs about 30 MB and half a second in
every process. These functions do not import it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

FLOATS = {"float": "float32", "double": "float64"}
"""Names of dtypes by those of Arrow, where they differ."""


def column(kind: "pa.DataType", count: int, *buffers: object, valid: NDArray[np.bool_] | None = None) -> "pa.Array":
    """Return a column over buffers.

    Args:
        kind: type of the cells.
        count: number of cells.
        buffers: buffers of the type, without that of empty cells.
        valid: bool [count], False for empty cells (default: no cell is empty).
    """
    import pyarrow as pa

    bits = None if valid is None else pa.py_buffer(bits_of(valid))
    nulls = 0 if valid is None else int((~valid).sum())
    return pa.Array.from_buffers(kind, count, [bits, *map(pa.py_buffer, buffers)], null_count=nulls)


def number_column(values: NDArray[np.generic]) -> "pa.Array":
    """Return a column of numbers of the array's type."""
    import pyarrow as pa

    return column(pa.from_numpy_dtype(values.dtype), len(values), np.ascontiguousarray(values))


def truth_column(values: NDArray[np.bool_]) -> "pa.Array":
    """Return a column of truth values."""
    import pyarrow as pa

    return column(pa.bool_(), len(values), bits_of(values))


def text_column(values: Sequence[str | None], *, large: bool = False) -> "pa.Array":
    """Return a column of text; None is an empty cell. Offsets have 64 bits if ``large`` (default: 32)."""
    import pyarrow as pa

    spelt = [(value or "").encode() for value in values]
    kind, width = (pa.large_string(), np.int64) if large else (pa.string(), np.int32)
    ends = ends_of(np.fromiter(map(len, spelt), width, len(spelt)), width)
    valid = np.array([value is not None for value in values]) if None in values else None
    return column(kind, len(spelt), ends, b"".join(spelt), valid=valid)


def array_of(column: "pa.Array | pa.ChunkedArray", empty: int | None = None) -> NDArray[Any]:
    """Return the numbers of a column.

    Args:
        column: a column of numbers.
        empty: value for empty cells (default: none, an empty cell is an error).

    Raises:
        ValueError: a cell is empty, and ``empty`` is not given.
    """
    if column.null_count and empty is None:
        raise ValueError("a cell is empty")
    kind = dtype_of(column.type)
    parts = [np.empty(0, kind)]
    for chunk in getattr(column, "chunks", [column]):
        bits, values = chunk.buffers()
        cells = slice(chunk.offset, chunk.offset + len(chunk))
        part = np.frombuffer(values or b"", kind)[cells]
        if chunk.null_count and empty is not None:
            valid = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[cells].astype(bool)
            part = np.where(valid, part, empty).astype(kind)
        parts.append(part)
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def dtype_of(kind: "pa.DataType") -> np.dtype[Any]:
    """Return the dtype of a type of numbers."""
    name = str(kind)
    return np.dtype(FLOATS.get(name, name))


def ends_of(lengths: NDArray[np.integer], kind: type[np.integer]) -> NDArray[np.integer]:
    """Return the offsets of consecutive values: 0 and the cumulative sums of their lengths."""
    ends = np.zeros(len(lengths) + 1, kind)
    np.cumsum(lengths, out=ends[1:])
    return ends


def bits_of(values: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return truth values as bits in the order of Arrow."""
    return np.packbits(values, bitorder="little")
