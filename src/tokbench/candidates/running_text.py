"""Running text, for constructions that look at tokens in their context."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from tokbench.candidates.shards import Form, batches, existing, in_order, opened

FORM = Form("documents", "prepare", "prepare it again")


@dataclass(frozen=True, slots=True)
class Documents:
    """Shards of documents: Parquet with ``document`` and ``text``; read anew each time.

    Attributes:
        paths: the shards.
        scheme: pre-tokenization of the tokenizer that is built from them, as counts name it.
    """

    paths: tuple[Path, ...]
    scheme: str

    def texts(self) -> Iterator[bytes]:
        """The text of every document in document order, whatever the shards; a few rows of each are held at a time.

        Raises:
            TokbenchError: a shard is unreadable, out of order, or shares a document with another.
        """
        for _, text in in_order(map(_rows, self.paths), itemgetter(0), FORM):
            yield text


def read_documents(paths: Iterable[Path | str], scheme: str) -> Documents:
    """The documents in these shards, in any order of the shards, to be cut by a pre-tokenization.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    return Documents(existing(paths, FORM), scheme)


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    with opened(path, FORM, "document", "text") as file:
        for documents, texts, _ in batches(path, file, FORM):
            yield from zip(documents, texts, strict=True)
