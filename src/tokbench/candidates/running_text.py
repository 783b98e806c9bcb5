"""Running text, for constructions that look at tokens in their context."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet, pieces, raw, require

ROWS_AT_ONCE = 64


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
        previous = None
        for document, text in heapq.merge(*map(_rows, self.paths), key=itemgetter(0)):
            if document == previous:
                raise TokbenchError(f"document {document} stands twice in the documents; give each shard once")
            previous = document
            yield text


def read_documents(paths: Iterable[Path | str], scheme: str) -> Documents:
    """The documents in these shards, in any order of the shards, to be cut by a pre-tokenization scheme.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    found = tuple(Path(path) for path in paths)
    if not found:
        raise TokbenchError("no files of documents; make them with 'tokbench prepare'")
    for path in found:
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of documents; make it with 'tokbench prepare'")
    return Documents(found, scheme)


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    previous = None
    with parquet(path, "a readable file of documents", "prepare it again") as file:
        require(file.schema_arrow, document="whole numbers", text="text")
        for batch in pieces(file, ["document", "text"], ROWS_AT_ONCE):
            texts = raw(batch.column("text"))
            for document, text in zip(batch.column("document").to_pylist(), texts, strict=True):
                if document is None or text is None or (previous is not None and document <= previous):
                    raise TokbenchError(f"{path}: document {document} is out of order or empty; prepare it again")
                previous = document
                yield document, text
