"""Tokenized documents, the input of metrics that depend on the order of tokens or on places in a text.

Pre-token counts have neither. Such metrics are computed where documents are given, as in
``tokbench measure --documents`` and ``tokbench.measure``.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokbench.tokenizer.encoder import TokenSpans

CACHED = 1 << 24
"""Largest number of bytes of text whose tokens are kept for the next metric."""


class EncodesSpans(Protocol):
    """Required methods of a tokenizer that encodes documents."""

    def encode_spans(self, text: bytes) -> "TokenSpans":
        """Return the ids of a text and the bytes of each token."""
        ...

    def count(self, text: bytes) -> int:
        """Return the number of tokens of a text."""
        ...


@dataclass(frozen=True)
class TokenizedDocument:
    """A document and its tokens.

    Attributes:
        language: tag of its language, empty if it has none.
        text: its bytes.
        ids: int32 [tokens], ids of the tokens.
        spans: int64 [placed tokens, 2], start and end of each token whose bytes in the text are known, in order.
    """

    language: str
    text: bytes
    ids: NDArray[np.int32]
    spans: NDArray[np.int64]

    def token_ranges(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first token and the last, exclusive, that have bytes of each span, int64 [spans, 2]."""
        first = np.searchsorted(self.spans[:, 1], starts, "right")
        return np.stack([first, np.maximum(np.searchsorted(self.spans[:, 0], ends, "left"), first)], axis=1)

    def are_covered(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return True for the spans all of whose bytes are in tokens, bool [spans]."""
        if not len(self.spans):
            return np.zeros(len(starts), np.bool_)
        first, last = self.token_ranges(starts, ends).T
        low, high = np.minimum(first, len(self.spans) - 1), np.maximum(last - 1, 0)
        gaps = np.concatenate([[0], np.cumsum(self.spans[1:, 0] != self.spans[:-1, 1])])
        inside = (last > first) & (self.spans[low, 0] <= starts) & (self.spans[high, 1] >= ends)
        return np.asarray(inside & (gaps[low] == gaps[high]))

    def are_borders(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return True for places where a token begins or ends, bool [places]."""
        present = np.zeros(len(places), np.bool_)
        for edges in self.spans.T if len(self.spans) else ():
            present |= edges[np.minimum(np.searchsorted(edges, places), len(edges) - 1)] == places
        return present


@dataclass(frozen=True)
class Documents:
    """Documents, encoded each time that they are iterated. The tokens of small texts are kept instead.

    Attributes:
        tokenizer: the tokenizer.
        read: function that returns language and text of each document.
    """

    tokenizer: EncodesSpans
    read: Callable[[], Iterable[tuple[str, bytes]]]
    _cache: list[TokenizedDocument] = field(default_factory=list, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[TokenizedDocument]:
        if self._cache:
            yield from self._cache
            return
        encoded: list[TokenizedDocument] = []
        size = 0
        for language, text in self.read():
            tokens = self.tokenizer.encode_spans(text)
            spans = tokens.spans if tokens.placed.all() else tokens.spans[tokens.placed]
            document = TokenizedDocument(language, text, tokens.ids, spans)
            size += len(text)
            if size <= CACHED:
                encoded.append(document)
            else:
                encoded.clear()
            yield document
        if size <= CACHED and not self._cache:
            self._cache.extend(encoded)
