"""NumPy's ``.npy`` files from outside: whole numbers in one dimension; nothing is ever unpickled."""

import os
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = np.lib.format.MAGIC_PREFIX


def read_header(file: BinaryIO) -> tuple[int, np.dtype[Any]]:
    """Length and type of an array of whole numbers in one dimension, from the version on, which follows the magic.

    The header is a Python literal; parsing a hostile one fails in many ways, each of which is a ``ValueError`` here.
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
    """The array of a file.

    Raises:
        ValueError: the file holds no array of this type in one dimension, or more or fewer numbers than it says.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"{path.name}: no array")
        length, found = read_header(file)
        if found != np.dtype(kind) or length * found.itemsize != os.fstat(file.fileno()).st_size - file.tell():
            raise ValueError(f"{path.name}: not the array of {np.dtype(kind)} that it says")
        return np.fromfile(file, found, length)
