"""Running text for constructions that use the context of tokens, and the reader of document shards.

Shards of running text and of byte scores are merged in document order.
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
    """Wording of error messages about a kind of shard.

    Attributes:
        content: contents.
        command: command that writes them.
        hint: instruction if one is damaged.
    """

    content: str
    command: str
    hint: str


def check_shards(paths: Iterable[Path | str], form: ShardForm) -> tuple[Path, ...]:
    """Return the shards' paths after checking that all exist.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    shards = tuple(Path(path) for path in paths)
    if not shards:
        raise TokbenchError(f"no files of {form.content}; make them with 'tokbench {form.command}'")
    for path in shards:
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of {form.content}; make it with 'tokbench {form.command}'")
    return shards


@contextmanager
def open_shard(path: Path, form: ShardForm, *columns: str) -> Iterator[Any]:
    """Open a shard as a Parquet file and check that it has these columns."""
    with parquet(path, f"a readable file of {form.content}", form.hint) as file:
        for column in columns:
            if column not in file.schema_arrow.names:
                raise TokbenchError(f"{path}: no column '{column}' in this file of {form.content}; {form.hint}")
        yield file


def batches(
    path: Path, file: Any, form: ShardForm, *columns: str, group: int | None = None
) -> Iterator[tuple[list[int], list[bytes], Any]]:
    """Yield rows of an open shard in batches: document numbers, texts, and the batch with further columns.

    Only one row group is read if ``group`` is given.

    Raises:
        TokbenchError: a document is empty, or its number does not exceed the previous one.
    """
    require(file.schema_arrow, document="whole numbers", text="text")
    previous = None
    for batch in pieces(file, ["document", "text", *columns], ROWS_AT_ONCE, group):
        documents, texts = batch.column("document").to_pylist(), raw(batch.column("text"))
        for document, text in zip(documents, texts, strict=True):
            if document is None or text is None or (previous is not None and document <= previous):
                raise TokbenchError(f"{path}: document {document} is out of order or empty; {form.hint}")
            previous = document
        yield documents, texts, batch  # type: ignore[misc]


def merge_documents(
    shards: Iterable[Iterator[Document]], number: Callable[[Document], int], form: ShardForm
) -> Iterator[Document]:
    """Merge the documents of all shards by number. A few rows of each shard are in memory at a time.

    Raises:
        TokbenchError: two shards have a document of the same number.
    """
    previous = None
    for document in heapq.merge(*shards, key=number):
        if number(document) == previous:
            raise TokbenchError(f"document {previous} occurs twice in the {form.content}; pass each shard once")
        previous = number(document)
        yield document


FORM = ShardForm("documents", "prepare", "prepare it again")


@dataclass(frozen=True, slots=True)
class Documents:
    """Shards of documents: Parquet with ``document`` and ``text``. They are read again on each call.

    Attributes:
        paths: the shards.
        scheme: pre-tokenization of the tokenizer that is built from them, as named in pre-token counts.
    """

    paths: tuple[Path, ...]
    scheme: str

    def texts(self) -> Iterator[bytes]:
        """Yield the text of every document in document order. A few rows of each shard are in memory at a time.

        Raises:
            TokbenchError: a shard is unreadable, out of order, or shares a document with another.
        """
        for _, text in merge_documents(map(_rows, self.paths), itemgetter(0), FORM):
            yield text


def read_documents(paths: Iterable[Path | str], scheme: str) -> Documents:
    """Open documents in any order of the shards, for a given pre-tokenization.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    return Documents(check_shards(paths, FORM), scheme)


def _rows(path: Path) -> Iterator[tuple[int, bytes]]:
    with open_shard(path, FORM, "document", "text") as file:
        for documents, texts, _ in batches(path, file, FORM):
            yield from zip(documents, texts, strict=True)
