"""A corpus as tokens: documents encoded in pieces."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import Document, Rest

ENCODE_BYTES = 8 << 20
"""Text encoded at a time: short documents together, long ones in pieces where the tokenizer can cut them."""


class Encoder(Protocol):
    """What encoding asks of a tokenizer."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]: ...

    def last_cut(self, text: bytes) -> int: ...


class Encoded(NamedTuple):
    """A document's tokens, or those of a piece of it.

    Attributes:
        document: its position in the source; of a document that a corpus has in pieces that of the first.
        ends: whether the document ends with it, as far as is known: a document in pieces goes on if the next has the
            same position.
        text_bytes: bytes of its text.
        ids: int32 [tokens].
    """

    document: int
    ends: bool
    text_bytes: int
    ids: NDArray[np.int32]


def encoded(tokenizer: Encoder, documents: Iterable[Document]) -> Iterator[Encoded]:
    """Documents as tokens, in their order; a long one in pieces whose ids together are those of the whole."""
    first = 0

    def pieces(document: Document) -> Iterator[tuple[int, bool, bytes]]:
        nonlocal first
        if not isinstance(document, Rest):
            first = document.document
        return _pieces(first, document.text, tokenizer)

    for group in _groups(chain.from_iterable(map(pieces, documents))):
        ids = tokenizer.encode_batch([text for _, _, text in group])
        for (document, ends, text), found in zip(group, ids, strict=True):
            yield Encoded(document, ends, len(text), found)


def _pieces(number: int, text: bytes, tokenizer: Encoder) -> Iterator[tuple[int, bool, bytes]]:
    """A document's text in pieces, each with the document's number and whether it is the last."""
    start = 0
    if len(text) > ENCODE_BYTES:
        for first in range(0, len(text), ENCODE_BYTES):
            if cut := tokenizer.last_cut(text[first : first + ENCODE_BYTES]):
                yield number, False, text[start : first + cut]
                start = first + cut
    yield number, True, text[start:]


def _groups(pieces: Iterable[tuple[int, bool, bytes]]) -> Iterator[list[tuple[int, bool, bytes]]]:
    group: list[tuple[int, bool, bytes]] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece[2])
        if size >= ENCODE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
