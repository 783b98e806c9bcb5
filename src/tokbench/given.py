"""Texts and ids as callers give them: what is neither is told, before it is taken for something else."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError, shortened


def bytes_of(text: Any) -> bytes:
    """The bytes of a text, of a ``str`` its UTF-8; bytes are handed on as they are, not copied.

    Raises:
        TokbenchError: it is no text: ``bytes`` takes a number for so many zeros.
    """
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    try:
        return bytes(memoryview(text))
    except TypeError:
        raise TokbenchError(f"{shortened(repr(text))} is no text; give str or bytes") from None


def characters_of(text: Any) -> str:
    """A text that has characters.

    Raises:
        TokbenchError: it is no ``str``.
    """
    if not isinstance(text, str):
        raise TokbenchError(f"{shortened(repr(text))} has no characters; give str, or ask for offsets()")
    return text


def several(texts: Any) -> Iterable[bytes | str]:
    """Texts as they are given; a single one is none of several, nor are its characters.

    Raises:
        TokbenchError: it is a text, or nothing to go through.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TokbenchError(f"texts {shortened(repr(texts))}: give several, as in a list, or encode one with encode()")
    return texts


def numbers_of(ids: ArrayLike) -> NDArray[Any]:
    """Ids as an array of whole numbers.

    Raises:
        TokbenchError: they are none, or sequences of several lengths.
    """
    try:
        values = np.asarray(ids).ravel()
    except ValueError:
        raise TokbenchError("ids of several lengths; decode one sequence at a time") from None
    if values.size and values.dtype.kind not in "iu":
        raise TokbenchError(f"ids of type {values.dtype} are no ids of this vocabulary; give whole numbers")
    return values
