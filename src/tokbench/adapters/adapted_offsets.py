"""Where the tokens of another library stand in a text: by their own bytes where these are the text, else as it says."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.libraries import Library, told
from tokbench.errors import TokbenchError
from tokbench.offsets import character_spans

PREFIX = b" "
"""What some libraries put before a text: the first token begins with it, or is it, and the text has none of it."""
SUFFIX = b" "
"""What others put after a text: SentencePiece, where pieces mark the ends of words."""


def byte_spans(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Where each token starts and ends in the bytes of a text, int64 [tokens, 2].

    Where the tokens' own bytes, end to end, are the text, with or without a space before or after it, each stands where
    its bytes are.
    Elsewhere each has the characters that the library gives it: tokens may overlap, have none, and leave some out.

    Args:
        library: the library.
        text: UTF-8.
        name: what messages call the tokenizer, and its library.

    Raises:
        TokbenchError: the text is not UTF-8, or the library does not tell.
    """
    characters = _characters(text, name)
    with told(f"{name}, which ends on a text"):
        borders = _by_bytes(library, library.encode(characters), text)
    if borders is not None:
        return np.stack([borders[:-1], borders[1:]], axis=1)
    spans = _told_by(library, characters, name)
    if spans is None:
        raise TokbenchError(
            f"{name}, which does not tell where tokens stand, and those of this text do not spell it; "
            "give a text that comes back"
        )
    return np.cumsum([0, *(len(one.encode()) for one in characters)], dtype=np.int64)[spans]


def borders_of(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Where tokens start that lie end to end, int64 [tokens + 1]; the last entry is the number of the text's bytes.

    Raises:
        TokbenchError: those of this text do not lie so, or as :func:`byte_spans`.
    """
    spans = byte_spans(library, text, name)
    borders = np.append(spans[:, 0], spans[-1, 1] if len(spans) else 0)
    if borders[0] or borders[-1] != len(text) or not np.array_equal(spans[:-1, 1], spans[1:, 0]):
        raise TokbenchError(
            f"{name}, whose tokens do not lie end to end in this text; ask byte_offsets() where each starts and ends"
        )
    return borders


def character_spans_of(library: Library, text: str, name: str) -> NDArray[np.int64]:
    """Where each token starts and ends in the characters of a text, int64 [tokens, 2], as the library gives it.

    Raises:
        TokbenchError: as :func:`borders_of`, where the library does not tell.
    """
    data = text.encode("utf-8", "surrogatepass")
    _characters(data, name)
    spans = _told_by(library, text, name)
    return character_spans(text, borders_of(library, data, name)) if spans is None else spans


def _characters(text: bytes, name: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise TokbenchError(
            f"{name}, which sees U+FFFD for what is not UTF-8 (byte {error.start}) and tells no places in it; "
            "give a text that is"
        ) from None


def _by_bytes(library: Library, ids: Sequence[int], text: bytes) -> NDArray[np.int64] | None:
    """Where tokens start, the last one ends, by their bytes; None where these are not the text."""
    known = {one: library.bytes_of(one) for one in dict.fromkeys(ids)}
    written = b"".join(map(known.__getitem__, ids))
    ends = np.cumsum([0, *(len(known[one]) for one in ids)], dtype=np.int64)
    if written in (text, PREFIX + text):
        return np.maximum(ends - (len(written) - len(text)), 0)
    return np.minimum(ends, len(text)) if written == text + SUFFIX else None


def _told_by(library: Library, text: str, name: str) -> NDArray[np.int64] | None:
    with told(f"{name}, which ends on a text"):
        spans = library.spans(text)
    return None if spans is None else np.array(spans, np.int64).reshape(-1, 2)
