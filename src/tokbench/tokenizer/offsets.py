"""Offsets of the tokens of other libraries, in the bytes and in the characters of a text.

Offsets follow from the tokens' own bytes if these spell the text. Otherwise the library reports characters. Tokens that
share characters are then split by their own bytes where these spell the characters. A token is placed if it covers
bytes that no other token covers; all other tokens have no bytes of the text that are only theirs.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.tokenizer.encoder import TokenSpans, character_spans
from tokbench.tokenizer.libraries import Library, library_errors

Bytes = NDArray[np.uint8]
Spans = NDArray[np.int64]
SPACE = 0x20
PREFIX = b" "
"""Space that some libraries add before a text: it begins the first token, or is that token."""
SUFFIX = b" "
"""Space that others add after a text, such as SentencePiece if pieces mark the ends of words."""


def byte_spans(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Return start and end of each token in the bytes of a text, int64 [tokens, 2].

    If the concatenated bytes of the tokens are the text, with or without a space before or after it, spans follow from
    these bytes. Otherwise they are the characters that the library reports: tokens may then overlap, be empty, and omit
    parts of the text.

    Args:
        library: the library.
        text: UTF-8.
        name: beginning of messages: the tokenizer and its library.

    Raises:
        TokbenchError: the text is not UTF-8, or the library reports no offsets.
    """
    characters = _characters(text, name)
    with library_errors(f"{name}, which fails on a text"):
        borders = _by_bytes(library, library.encode(characters), text)
    if borders is not None:
        return np.stack([borders[:-1], borders[1:]], axis=1)
    spans = _reported_spans(library, characters, name)
    if spans is None:
        raise TokbenchError(
            f"{name}, which reports no offsets, and the tokens of this text do not spell it; "
            "pass a text that decoding restores"
        )
    return _byte_positions(characters)[spans]


def _byte_positions(characters: str) -> NDArray[np.int64]:
    """Return the byte at which each character begins, and the length of the text, int64 [characters + 1]."""
    codes = np.frombuffer(characters.encode("utf-32-le"), np.uint32)
    positions = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000), out=positions[1:])
    return positions


def token_spans(library: Library, ids: NDArray[np.int32], text: bytes, unknown: int | None) -> TokenSpans:
    """Return the ids of a text with their spans; tokens are placed as the module says, unknown ones never.

    No token is placed if the text is not UTF-8, or if the library reports no offsets and the tokens do not spell it.

    Args:
        library: the library.
        ids: its ids of the text, int32 [tokens].
        text: the text.
        unknown: id of the unknown token, None if there is none.
    """
    numbers: list[int] = ids.tolist()
    try:
        characters = text.decode()
        with library_errors("the library fails on a text"):
            borders = _by_bytes(library, numbers, text)
            spans = None if borders is not None else _reported_spans(library, characters, "the tokenizer")
    except (UnicodeDecodeError, TokbenchError):
        return not_placed(ids)
    if borders is not None:
        spans = np.stack([borders[:-1], borders[1:]], axis=1)
    elif spans is not None and len(spans) == len(ids):
        with library_errors("the library fails on a text"):
            spans = _refined(_byte_positions(characters)[spans], numbers, library.bytes_of, text)
    else:
        return not_placed(ids)
    return TokenSpans(ids, spans, _separate_spans(spans) & (ids != (-1 if unknown is None else unknown)))


def not_placed(ids: NDArray[np.int32]) -> TokenSpans:
    """Return ids without any token that is placed."""
    return TokenSpans(ids, np.zeros((len(ids), 2), np.int64), np.zeros(len(ids), np.bool_))


def _refined(spans: Spans, ids: Sequence[int], bytes_of: Callable[[int], bytes], text: bytes) -> Spans:
    """Return spans with the space that a token begins with, and with shared characters split by the tokens' bytes.

    Some libraries leave the space before a word out of the span of its token.
    """
    known = {token_id: bytes_of(token_id) for token_id in dict.fromkeys(ids)}
    own = [known[token_id] for token_id in ids]
    spans = spans.copy()
    starts, ends = spans[:, 0], spans[:, 1]
    before = np.concatenate([np.zeros(1, np.int64), np.maximum.accumulate(ends)[:-1]]) if len(spans) else ends
    data = np.frombuffer(text + b"\0", np.uint8)
    spaced = np.fromiter((token_id.startswith(b" ") for token_id in own), np.bool_, len(own))
    spaced &= (ends > starts) & (starts > before) & (data[starts - 1] == SPACE) & (data[starts] != SPACE)
    starts[spaced] -= 1
    shared = np.zeros(len(spans), np.bool_)
    shared[1:] = (starts[1:] < before[1:]) | ((starts[:-1] == ends[:-1]) & (starts[1:] == starts[:-1]))
    firsts = np.flatnonzero(~shared)
    for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(spans)], strict=True):
        if last - first == 1:
            continue
        start, end = int(starts[first:last].min()), int(ends[first:last].max())
        joined = b"".join(own[first:last])
        for begin in (start, start - 1):
            if begin >= int(before[first]) and joined == text[begin:end]:
                borders = begin + np.cumsum([0, *map(len, own[first:last])], dtype=np.int64)
                spans[first:last] = np.stack([borders[:-1], borders[1:]], axis=1)
                break
    return spans


def _separate_spans(spans: Spans) -> NDArray[np.bool_]:
    """Return True for spans that are not empty and share no byte with another, bool [tokens]."""
    filled = spans[:, 1] > spans[:, 0]
    starts, ends = spans[filled].T
    alone = np.ones(len(starts), np.bool_)
    if len(starts) > 1:
        alone[1:] = starts[1:] >= np.maximum.accumulate(ends)[:-1]
        alone[:-1] &= ends[:-1] <= np.minimum.accumulate(starts[::-1])[::-1][1:]
    filled[filled] = alone
    return filled


def borders_of(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Return the starts of contiguous tokens in bytes, int64 [tokens + 1]; the last entry is the length of the text.

    Raises:
        TokbenchError: the tokens are not contiguous in this text, or see :func:`byte_spans`.
    """
    spans = byte_spans(library, text, name)
    borders = np.append(spans[:, 0], spans[-1, 1] if len(spans) else 0)
    if borders[0] or borders[-1] != len(text) or not np.array_equal(spans[:-1, 1], spans[1:, 0]):
        raise TokbenchError(
            f"{name}, whose tokens are not contiguous in this text; use byte_offsets(), which has start and end of each"
        )
    return borders


def character_spans_of(library: Library, text: str, name: str) -> NDArray[np.int64]:
    """Return start and end of each token in the characters of a text, int64 [tokens, 2], as the library reports them.

    Raises:
        TokbenchError: see :func:`borders_of`, if the library reports no offsets.
    """
    data = text.encode("utf-8", "surrogatepass")
    _characters(data, name)
    spans = _reported_spans(library, text, name)
    return character_spans(text, borders_of(library, data, name)) if spans is None else spans


def _characters(text: bytes, name: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise TokbenchError(
            f"{name}, which replaces bytes that are not UTF-8 (byte {error.start}) and has no offsets for them; "
            "pass UTF-8 text"
        ) from None


def _by_bytes(library: Library, ids: Sequence[int], text: bytes) -> NDArray[np.int64] | None:
    """Return the starts of the tokens, and the last end, from their bytes; None if these do not spell the text."""
    known = {token_id: library.bytes_of(token_id) for token_id in dict.fromkeys(ids)}
    written = b"".join(map(known.__getitem__, ids))
    ends = np.cumsum([0, *(len(known[token_id]) for token_id in ids)], dtype=np.int64)
    if written in (text, PREFIX + text):
        return np.maximum(ends - (len(written) - len(text)), 0)
    return np.minimum(ends, len(text)) if written == text + SUFFIX else None


def _reported_spans(library: Library, text: str, name: str) -> NDArray[np.int64] | None:
    with library_errors(f"{name}, which fails on a text"):
        spans = library.spans(text)
    return None if spans is None else np.array(spans, np.int64).reshape(-1, 2)
