"""Tokenized documents, the input of metrics that depend on the order of tokens or on places in a text.

Pre-token counts have neither. Such metrics are computed where documents are given, as in
``tokbench measure --documents`` and :func:`tokbench.measure`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokbench.tokenizer.encoder import TokenSpans


class EncodesSpans(Protocol):
    """Required method of a tokenizer that encodes documents."""

    def encode_spans(self, text: bytes) -> "TokenSpans":
        """Return the ids of a text and the bytes of each token."""
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

    def touching(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first token and the last, exclusive, that have bytes of each span, int64 [spans, 2]."""
        first = np.searchsorted(self.spans[:, 1], starts, "right")
        return np.stack([first, np.maximum(np.searchsorted(self.spans[:, 0], ends, "left"), first)], axis=1)

    def covered(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return True for the spans all of whose bytes are in tokens, bool [spans]."""
        steps = np.zeros(len(self.text) + 1, np.int64)
        np.add.at(steps, self.spans[:, 0], 1)
        np.add.at(steps, self.spans[:, 1], -1)
        lacking = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] == 0)])
        covered: NDArray[np.bool_] = lacking[starts] == lacking[ends]
        return covered


@dataclass(frozen=True)
class Documents:
    """Documents, encoded again each time that they are iterated.

    Attributes:
        tokenizer: the tokenizer.
        read: function that returns language and text of each document.
    """

    tokenizer: EncodesSpans
    read: Callable[[], Iterable[tuple[str, bytes]]]

    def __iter__(self) -> Iterator[TokenizedDocument]:
        for language, text in self.read():
            encoded = self.tokenizer.encode_spans(text)
            yield TokenizedDocument(language, text, encoded.ids, encoded.spans[encoded.placed])
