"""Tokens of every document of a text.

How far a number of tokens is moved by the choice of documents can be told only from the tokens of each; see
:mod:`tokbench.intrinsic.neighbours`.
"""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from tokbench.corpus.documents import Document
from tokbench.encoding_speed import Sample
from tokbench.intrinsic.neighbours import in_groups


class Counts(Protocol):
    """A tokenizer that counts the tokens of a text."""

    def count(self, text: bytes) -> int: ...


def tokens_by_document(tokenizer: Counts, documents: Iterable[Document]) -> tuple[dict[str, list[int]], list[bytes]]:
    """Count the tokens of each document, or of each group of neighbours.

    Returns:
        ``document`` (the first of the group), ``documents``, ``bytes`` and ``tokens`` by group, and the texts for
        :func:`tokbench.encoding_speed.cold_speed`.
    """
    rows: list[tuple[int, int, int, int]] = []
    sample = Sample()
    for document in documents:
        rows.append((document.document, 1, len(document.text), tokenizer.count(document.text)))
        sample.add(document.text)
    table = in_groups(np.array(rows, np.int64).reshape(-1, 4))
    names = ("document", "documents", "bytes", "tokens")
    return {name: table[:, place].tolist() for place, name in enumerate(names)}, sample.texts
