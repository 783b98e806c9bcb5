"""Tokens of every document of a text, and how fast the text is encoded.

How far a number of tokens is moved by the choice of documents can be told only from the tokens of each; see
:mod:`tokbench.intrinsic.neighbours`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import process_time
from typing import Any, Protocol

import numpy as np

from tokbench.corpus.documents import Document
from tokbench.intrinsic.neighbours import in_groups

TIMED_BYTES = 2_000_000
"""Bytes of text that are encoded again to be timed: the first documents."""
ROUNDS = 3
"""Times that they are encoded; the fastest counts, since other work on a machine only ever slows."""


class Encodes(Protocol):
    """What is asked of a tokenizer."""

    def encode(self, text: bytes) -> Any: ...
    def count(self, text: bytes) -> int: ...


@dataclass(frozen=True)
class Timed:
    """How fast a text is encoded by one thread, document by document.

    Attributes:
        bytes: of the text.
        seconds: processor time of the fastest of several rounds.
    """

    bytes: int
    seconds: float


def tokens_by_document(tokenizer: Encodes, documents: Iterable[Document]) -> tuple[dict[str, list[int]], list[bytes]]:
    """Count the tokens of each document, or of each group of neighbours.

    Returns:
        ``document`` (the first of the group), ``documents``, ``bytes`` and ``tokens`` by group, and the texts that are
        to be timed.
    """
    rows: list[tuple[int, int, int, int]] = []
    first: list[bytes] = []
    room = TIMED_BYTES
    for document in documents:
        rows.append((document.document, 1, len(document.text), tokenizer.count(document.text)))
        if 0 < len(document.text) <= room:
            first.append(document.text)
            room -= len(document.text)
    table = in_groups(np.array(rows, np.int64).reshape(-1, 4))
    names = ("document", "documents", "bytes", "tokens")
    return {name: table[:, place].tolist() for place, name in enumerate(names)}, first


def timed(tokenizer: Encodes, texts: list[bytes], clock: Callable[[], float] = process_time) -> Timed | None:
    """Encode texts several times; None where there is none, or the clock is too coarse for them."""

    def once() -> float:
        start = clock()
        for text in texts:
            tokenizer.encode(text)
        return clock() - start

    seconds = min(once() for _ in range(ROUNDS))
    return Timed(sum(map(len, texts)), seconds) if texts and seconds > 0 else None
