"""Leakage: evaluation text that also occurs in the text used to build tokenizers and train models.

Leakage is counted in runs of :data:`LENGTH` equal bytes. Equal stretches that are shorter are not counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from tokbench.corpus.documents import ContinuationPiece, Document, read_documents, read_shard
from tokbench.corpus.duplicates import Digester
from tokbench.kernels.shared_runs import RunTable

LENGTH = 50
"""Bytes of a run, about nine English words."""
LARGEST = 20_000_000
"""Bytes of evaluation text to examine, approximately. In a larger split every k-th document is examined."""
READ_LIMIT = 2_000_000_000
"""Maximum bytes to read from another split, rounded up to a shard. Documents are assigned to shards in turn, so the
first shards are a sample of all."""


class SharedText(TypedDict):
    """Text that an evaluation split shares with another split, from which ``read`` bytes were read."""

    corpus: str
    split: str
    read: int
    equal_documents: int
    documents: int
    bytes: int


class Leakage(TypedDict):
    """Text that an evaluation split shares with others; ``documents`` and ``bytes`` count the examined sample."""

    corpus: str
    length: int
    documents: int
    bytes: int
    of_documents: int
    of_bytes: int
    others: list[SharedText]


def find_leakage(
    corpus: str,
    evaluation: Sequence[Path],
    others: Mapping[tuple[str, str], Sequence[Path]],
    length: int = LENGTH,
    largest: int = LARGEST,
    read: int = READ_LIMIT,
) -> Leakage:
    """Count documents and bytes of an evaluation split that also occur in other splits.

    Args:
        corpus: name of the evaluation split's corpus.
        evaluation: shards of the evaluation split.
        others: shards of other splits, by corpus and split.
        length: bytes of a run (default: 50).
        largest: bytes of evaluation text to examine (default: 20 million). Of a larger split every k-th document is
            examined, with the smallest k that keeps the expected number of bytes below the limit.
        read: bytes of another split after which no further shard is read (default: 2 billion).

    Returns:
        For each other split: ``equal_documents``, the number of documents that it contains byte for byte;
        ``documents``, the number of documents that share a run with it; ``bytes``, the number of bytes in shared runs.

    Raises:
        TokbenchError: a shard cannot be read.
    """
    total = of_documents = 0
    for document in read_documents(evaluation):
        total += len(document.text)
        of_documents += not isinstance(document, ContinuationPiece)
    # A sample of the evaluation split, as one text with a table of its runs.
    step = max(1, -(-total // largest))
    texts, digests = _sample(read_documents(evaluation), step)
    data = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.append(0, np.cumsum([len(text) for text in texts], dtype=np.int64))
    table = RunTable(data, offsets, length)
    firsts = np.flatnonzero(np.array([digest is not None for digest in digests], bool))
    # Each other split marks the runs that it contains.
    shared: list[SharedText] = []
    for (name, split), shards in others.items():
        digests_found, size = _mark(table, shards, {digest for digest in digests if digest is not None}, read)
        pieces = table.shared_bytes()
        by_document = np.add.reduceat(pieces, firsts) if len(firsts) else pieces
        equal = sum(digest in digests_found for digest in digests if digest is not None)
        shared.append(
            {
                "corpus": name,
                "split": split,
                "read": size,
                "equal_documents": equal,
                "documents": int((by_document > 0).sum()),
                "bytes": int(by_document.sum()),
            }
        )
    return {
        "corpus": corpus,
        "length": length,
        "documents": len(firsts),
        "bytes": len(data),
        "of_documents": of_documents,
        "of_bytes": total,
        "others": shared,
    }


def _mark(table: RunTable, shards: Sequence[Path], searched: set[bytes], read: int) -> tuple[set[bytes], int]:
    """Mark the runs of shards until ``read`` bytes are reached.

    Returns:
        The wanted digests that occur among the documents, and the number of bytes read.
    """
    found_digests, size = set[bytes](), 0
    for shard in shards:
        if size >= read:
            break
        digester, digest = Digester(), b""
        for document in read_shard(shard):
            if not isinstance(document, ContinuationPiece) and digest in searched:
                found_digests.add(digest)
            digest = digester.digest(document)
            table.mark(np.frombuffer(document.text, np.uint8))
            size += len(document.text)
        if digest in searched:
            found_digests.add(digest)
    return found_digests, size


def _sample(documents: Iterable[Document], step: int) -> tuple[list[bytes], list[bytes | None]]:
    """Return the texts of every k-th document, and the digest of each document at its first piece (None at others)."""
    texts: list[bytes] = []
    digests: list[bytes | None] = []
    digester, number, first = Digester(), -1, 0
    for document in documents:
        goes_on = isinstance(document, ContinuationPiece)
        number += not goes_on
        if number % step:
            continue
        first = first if goes_on else len(digests)
        texts.append(document.text)
        digests.append(None)
        digests[first] = digester.digest(document)
    return texts, digests
