"""Exact duplicates: evaluation documents that are also in a training split, and files with equal content.

Documents and files are equal if their bytes are equal.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.corpus.source_files import files_of
from tokbench.corpus.sources import CountsSource, FileSource, Source
from tokbench.corpus.splits import CHUNK, UNUSED
from tokbench.errors import TokbenchError, listed_files

DIGEST = 16
"""Bytes of a document's digest (BLAKE2b)."""
EVALUATION, OTHER_SPLITS = "evaluation", ("tokenizer", "pretraining")
BUCKETS = 16
"""Number of passes. Each compares the digests with the same first bits, which saves memory."""


class Digester:
    """Incremental digest of documents. For a document in pieces, the digest covers all pieces so far."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=DIGEST)

    def digest(self, document: Document) -> bytes:
        """Return the digest of a document including this piece, 16 bytes."""
        if not isinstance(document, ContinuationPiece):
            self._hash = hashlib.blake2b(document.text, digest_size=DIGEST)
        else:
            self._hash.update(document.text)
        return self._hash.digest()


def compared_splits(fractions: Mapping[str, float]) -> list[str]:
    """Return the splits whose documents are compared with those of the evaluation split.

    Args:
        fractions: share of each split, without splits that are the same as another.
    """
    return [split for split in OTHER_SPLITS if fractions.get(split)] if fractions.get(EVALUATION) else []


class Duplicates:
    """Documents of the evaluation split that are also in another split.

    Args:
        digests: digest of each document, uint64 [n, 2].
        splits: split of each document as an index into ``fractions``, int8 [n].
        fractions: share of each split.
        sizes: bytes of each document, [n].

    Attributes:
        numbers: numbers of these documents, int64, ascending.
    """

    def __init__(
        self,
        digests: NDArray[np.uint64],
        splits: NDArray[np.int8],
        fractions: Mapping[str, float],
        sizes: NDArray[np.integer],
    ) -> None:
        self._compared = compared_splits(fractions)
        places = list(fractions)
        self.numbers = np.empty(0, np.int64)
        self._documents = self._bytes = 0
        if not self._compared:
            return
        tested = places.index(EVALUATION)
        evaluated = splits == tested
        compared = np.isin(splits, [places.index(split) for split in self._compared])
        duplicates = [
            _shared_documents(digests[bucket], evaluated[bucket], compared[bucket], bucket)
            for bucket in _buckets(digests, evaluated | compared)
        ]
        self.numbers = np.sort(np.concatenate(duplicates))
        self._documents = int(evaluated.sum())
        self._bytes = int(sizes[self.numbers].sum())

    def drop(self, splits: NDArray[np.int8]) -> None:
        """Remove these documents from the evaluation split.

        Raises:
            TokbenchError: no other document is left in it.
        """
        if self._documents and len(self.numbers) == self._documents:
            raise TokbenchError(
                f"split '{EVALUATION}': all {self._documents:,} documents are also in {self._split_names()}; set "
                "'duplicates: keep', or add other documents"
            )
        splits[self.numbers] = UNUSED

    def lines(self, dropped: bool) -> dict[str, str]:
        """Return the manifest entry; empty if there are no duplicates."""
        if not len(self.numbers):
            return {}
        number = f"{len(self.numbers):,} of {self._documents:,} documents of {EVALUATION} ({self._bytes:,} bytes)"
        done = "left out of it" if dropped else "kept (duplicates: keep)"
        verb = "is" if len(self.numbers) == 1 else "are"
        return {"duplicates": f"{number} {verb} also in {self._split_names()}, byte for byte; {done}"}

    def _split_names(self) -> str:
        return " or ".join(self._compared)


def _buckets(digests: NDArray[np.uint64], looked_at: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of documents whose digests begin with the same bits."""
    for start in range(BUCKETS):
        members = [np.empty(0, np.int64)]
        for first in range(0, len(digests), CHUNK):
            chunk = slice(first, first + CHUNK)
            high = digests[chunk, 0] // np.uint64((1 << 64) // BUCKETS)
            members.append(np.flatnonzero(looked_at[chunk] & (high == start)) + first)
        yield np.concatenate(members)


def _shared_documents(
    digests: NDArray[np.uint64],
    evaluated: NDArray[np.bool_],
    compared: NDArray[np.bool_],
    numbers: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the numbers of own documents whose digest also occurs among the others."""
    if not len(numbers):
        return numbers
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    ordered = digests[order]
    group = np.cumsum(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))) - 1
    del ordered
    shared = np.zeros(group[-1] + 1, np.bool_)
    shared[group[compared[order]]] = True
    return numbers[order[shared[group] & evaluated[order]]]


def equal_files(*sources: Source) -> list[str]:
    """Return one line for each group of files of a corpus's sources with equal bytes on disk.

    Only files that share their size with another are read.

    Raises:
        TokbenchError: an entry of a source's paths matches no file, or a file cannot be read.
    """
    read = [one for one in sources if isinstance(one, FileSource) and not isinstance(one, CountsSource)]
    by_size, by_content = defaultdict[int, list[Path]](list), defaultdict[tuple[int, bytes], list[Path]](list)
    for file in (file for source in read for file in files_of(source)):
        by_size[file.stat().st_size].append(file)
    for size, files in by_size.items():
        if size and len(files) > 1:
            for file in files:
                by_content[size, _content(file)].append(file)
    same = (files for files in by_content.values() if len(files) > 1)
    return [f"{len(files):,} files have equal content: {listed_files(files)}" for files in same]


def _content(path: Path) -> bytes:
    """Return a digest of a file's bytes.

    Raises:
        TokbenchError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST)).digest()
    except OSError as error:
        raise TokbenchError(f"{path}: cannot be read ({error.strerror}); name a file that can be read") from None
