"""Reader of NumPy's ``.npy`` files with one-dimensional arrays of integers; nothing is ever unpickled."""

import os
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = np.lib.format.MAGIC_PREFIX


def read_header(file: BinaryIO) -> tuple[int, np.dtype[Any]]:
    """Read length and type of a one-dimensional array of integers. The file must be positioned after the magic bytes.

    The header is a Python literal. Parsing a hostile one fails in many ways, and each becomes a ``ValueError``.

    Raises:
        ValueError: the header is not valid, or the array is not one-dimensional or not of integers.
    """
    readers = {b"\1\0": np.lib.format.read_array_header_1_0, b"\2\0": np.lib.format.read_array_header_2_0}
    version = file.read(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shape, _, kind = readers[version](file)
        except Exception as error:
            raise ValueError(f"no header of an array ({type(error).__name__})") from None
    if len(shape) != 1 or shape[0] < 0 or kind.kind not in "iu" or kind.subdtype:
        raise ValueError(f"an array of {kind} and shape {shape}")
    return shape[0], kind


def read_array(path: Path, kind: type[np.integer]) -> NDArray[Any]:
    """Read the array of a file, [n] of type ``kind``.

    Raises:
        ValueError: the file is not a one-dimensional array of this type, or its length differs from its header.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"{path.name}: not an array")
        length, dtype = read_header(file)
        if dtype != np.dtype(kind) or length * dtype.itemsize != os.fstat(file.fileno()).st_size - file.tell():
            raise ValueError(f"{path.name}: not the array of {np.dtype(kind)} that its header describes")
        return np.fromfile(file, dtype, length)
