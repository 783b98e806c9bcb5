"""Running text, for constructions that look at tokens in their context.

Shards of documents, read side by side in document order: what running text and byte scores have in common.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tokbench.errors import TokbenchError
from tokbench.io.parquet import parquet, pieces, raw, require

ROWS_AT_ONCE = 64
Document = TypeVar("Document")


class ShardForm(NamedTuple):
    """A form of shards, in words.

    Attributes:
        what: what they hold.
        command: what makes them.
        again: what to do where one is damaged.
    """

    what: str
    command: str
    again: str


def existing(paths: Iterable[Path | str], form: ShardForm) -> tuple[Path, ...]:
    """Shards that are there.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    found = tuple(Path(path) for path in paths)
    if not found:
        raise TokbenchError(f"no files of {form.what}; make them with 'tokbench {form.command}'")
    for path in found:
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of {form.what}; make it with 'tokbench {form.command}'")
    return found


@contextmanager
def opened(path: Path, form: ShardForm, *columns: str) -> Iterator[Any]:
    """A shard that has these columns, as a file of Parquet."""
    with parquet(path, f"a readable file of {form.what}", form.again) as file:
        for column in columns:
            if column not in file.schema_arrow.names:
                raise TokbenchError(f"{path}: no column '{column}' in this file of {form.what}; {form.again}")
        yield file


def batches(
    path: Path, file: Any, form: ShardForm, *columns: str, group: int | None = None
) -> Iterator[tuple[list[int], list[bytes], Any]]:
    """Rows of an open shard, a few at a time: numbers and texts of documents, and the batch with further columns.

    They are all of the shard's, or those of one of its row groups.

    Raises:
        TokbenchError: a document is empty, or not after the one before it.
    """
    require(file.schema_arrow, document="whole numbers", text="text")
    previous = None
    for batch in pieces(file, ["document", "text", *columns], ROWS_AT_ONCE, group):
        documents, texts = batch.column("document").to_pylist(), raw(batch.column("text"))
        for document, text in zip(documents, texts, strict=True):
            if document is None or text is None or (previous is not None and document <= previous):
                raise TokbenchError(f"{path}: document {document} is out of order or empty; {form.again}")
            previous = document
        yield documents, texts, batch  # type: ignore[misc]


def in_order(
    shards: Iterable[Iterator[Document]], number: Callable[[Document], int], form: ShardForm
) -> Iterator[Document]:
    """The documents of all shards by their numbers, whatever the shards; a few rows of each are held at a time.

    Raises:
        TokbenchError: two shards have a document of one number.
    """
    previous = None
    for document in heapq.merge(*shards, key=number):
        if number(document) == previous:
            raise TokbenchError(f"document {previous} stands twice in the {form.what}; give each shard once")
        previous = number(document)
        yield document


FORM = ShardForm("documents", "prepare", "prepare it again")


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
