"""Texts and ids as callers pass them: what is neither is rejected, before it is read as something else."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError, shortened

BYTE_FORMATS = ("B", "b", "c")
"""Formats of buffers whose items are bytes."""
COLUMNS = ("columns", "column_names")
"""Public attributes by which frames and data sets name their columns; one of them is enough."""


def bytes_of(text: Any) -> bytes:
    """Return the bytes of a text: of a ``str`` its UTF-8, of a buffer of bytes a copy.

    Raises:
        TokbenchError: it is no text.
    """
    if type(text) is bytes:
        return text
    text = plain(text)
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if is_text(text):
        return bytes(memoryview(text))
    reject_table(text)
    if isinstance(text, PurePath):
        raise TokbenchError(f"{shortened(str(text))}: a path, not a text; pass its text, as from Path.read_bytes()")
    raise TokbenchError(f"{shown(text)} is no text; give str or bytes")


def is_text(value: Any) -> bool:
    """Return whether a value is one text: ``str``, ``bytes`` or another buffer whose items are bytes in one row."""
    if isinstance(value, str | bytes):
        return True
    try:
        view = memoryview(value)
    except TypeError:
        return False
    return view.ndim == 1 and view.itemsize == 1 and view.format.lstrip("<>=@") in BYTE_FORMATS


def plain(value: Any) -> Any:
    """Return a scalar of pyarrow as the Python value that it has; return any other value as it is."""
    return value.as_py() if hasattr(type(value), "as_py") else value


def reject_table(value: Any) -> None:
    """Reject mappings, frames and data sets, whose items are names and not texts.

    Raises:
        TokbenchError: it is one; the message names the remedy.
    """
    remedy = ""
    if any(hasattr(type(value), attribute) for attribute in COLUMNS):
        remedy = (
            "one column, as in splits['train']['text']"
            if isinstance(value, Mapping)
            else "one column, as in frame['text']"
        )
    elif isinstance(value, Mapping):
        remedy = "its texts, as in mapping.values() or row['text']"
    if remedy:
        raise TokbenchError(f"{type(value).__name__}: neither a text nor several; give {remedy}")


def shown(value: Any) -> str:
    """Return a wrong value for a message: on one line, without runs of blanks, and cut where it is long."""
    return shortened(" ".join(repr(value).split()))


def characters_of(text: Any) -> str:
    """A text that has characters.

    Raises:
        TokbenchError: it is no ``str``.
    """
    if not isinstance(text, str):
        raise TokbenchError(f"{shown(text)} has no characters; give str, or ask for offsets()")
    return text


def several(texts: Any) -> Iterable[Any]:
    """Return texts as they are given; reject a single text, as its items are characters.

    Raises:
        TokbenchError: it is a single text, a table, or nothing to go through.
    """
    reject_table(texts)
    if is_text(texts) or not is_iterable(texts):
        raise TokbenchError(f"texts {shown(texts)}: give several, as in a list, or encode one with encode()")
    return cast(Iterable[Any], texts)


def is_iterable(value: Any) -> bool:
    """Return whether a value can be gone through, as an array without dimensions cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def numbers_of(ids: ArrayLike) -> NDArray[Any]:
    """Return the ids of one sequence as an array of whole numbers.

    Raises:
        TokbenchError: they are no whole numbers, or are those of several sequences.
    """
    if isinstance(ids, bytes | bytearray | memoryview) and is_text(ids):
        raise TokbenchError(f"ids {shown(ids)}: a text, not ids; give whole numbers")
    try:
        values = np.asarray(ids)
    except ValueError:
        raise TokbenchError("ids of several lengths; decode one sequence at a time") from None
    if values.size and values.dtype.kind not in "iu":
        raise TokbenchError(f"ids of type {values.dtype} are no ids of this vocabulary; give whole numbers")
    if np.ma.is_masked(ids):
        raise TokbenchError("ids: some are masked; give those that are not, as in ids.compressed()")
    if values.size and max(values.shape, default=1) != values.size:
        raise TokbenchError(f"ids of {len(values)} sequences; decode one sequence at a time")
    return values.ravel()
