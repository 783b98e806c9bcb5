"""Documents scored byte by byte by a byte language model, as ByteSpan reads them."""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokbench.candidates.signals import SignalName
from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet, pieces, raw, require, strings

ROWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocument:
    """One document and one signal.

    Attributes:
        document: its position in the source.
        language: its language tag, empty where unknown.
        text: its n bytes.
        signal: float32 [n], nats, of each byte itself.
    """

    document: int
    language: str
    text: bytes
    signal: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScoredDocuments:
    """Shards of byte scores: Parquet with ``document``, ``language``, ``text``, ``surprisal``, ``entropy``.

    They are read anew each time. Files without languages are those of one language without a name.

    Attributes:
        paths: the shards.
        scheme: pre-tokenization of the tokenizer that is built from them, as counts name it.
    """

    paths: tuple[Path, ...]
    scheme: str

    def documents(self, signal: SignalName) -> Iterator[ScoredDocument]:
        """All documents in document order, whatever the shards; a few rows of each shard are held at a time.

        Raises:
            TokbenchError: a shard is unreadable, out of order, shares a document with another, or has a document
                whose signal is not one number a byte.
        """
        previous = None
        for item in heapq.merge(*(_documents(path, signal) for path in self.paths), key=attrgetter("document")):
            if item.document == previous:
                raise TokbenchError(f"document {previous} stands twice in the byte scores; give each shard once")
            previous = item.document
            yield item

    def signals(self, signal: SignalName) -> Iterator[NDArray[np.float32]]:
        """All values of a signal, some documents at a time, in no stated order."""
        for path in self.paths:
            with _opened(path, signal) as file:
                for batch in pieces(file, [signal], ROWS_AT_ONCE):
                    yield _flat(path, signal, batch.column(signal))[0]


def read_scores(paths: Iterable[Path | str], scheme: str) -> ScoredDocuments:
    """The byte scores in these shards, in any order of the shards, to be cut by a pre-tokenization scheme.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    found = tuple(Path(path) for path in paths)
    if not found:
        raise TokbenchError("no files of byte scores; make them with 'tokbench score_bytes'")
    for path in found:
        if not path.is_file():
            raise TokbenchError(f"{path}: no such file of byte scores; make it with 'tokbench score_bytes'")
    return ScoredDocuments(found, scheme)


def _documents(path: Path, signal: SignalName) -> Iterator[ScoredDocument]:
    previous = None
    with _opened(path, "document", "text", signal) as file:
        require(file.schema_arrow, document="whole numbers", text="text")
        known = ["language"] if "language" in file.schema_arrow.names else []
        for batch in pieces(file, ["document", "text", signal, *known], ROWS_AT_ONCE):
            values, offsets = _flat(path, signal, batch.column(signal))
            languages = strings(batch.column("language")) if known else [""] * batch.num_rows
            documents, texts = batch.column("document").to_pylist(), raw(batch.column("text"))
            for row, (document, language, text) in enumerate(zip(documents, languages, texts, strict=True)):
                if document is None or text is None or (previous is not None and document <= previous):
                    raise TokbenchError(f"{path}: document {document} is out of order or empty; score this shard again")
                previous = document
                own = values[offsets[row] : offsets[row + 1]]
                if len(own) != len(text):
                    raise TokbenchError(
                        f"{path}: document {document} has {len(text)} bytes but {len(own)} values of {signal}; "
                        "score this shard again"
                    )
                yield ScoredDocument(document, language or "", text, own)


@contextmanager
def _opened(path: Path, *columns: str) -> Iterator[Any]:
    """A file of byte scores that has these columns."""
    with parquet(path, "a readable file of byte scores", "score it again") as file:
        missing = [column for column in columns if column not in file.schema_arrow.names]
        if missing:
            raise TokbenchError(f"{path}: no column '{missing[0]}' in this file of byte scores; score it again")
        yield file


def _flat(path: Path, signal: str, lists: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The values of a column of lists end to end, and where each list starts."""
    kind = lists.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_float32(kind.value_type):
        raise TokbenchError(f"{path}: column '{signal}' holds {kind}, not lists of float32; score it again")
    values = lists.flatten().to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=offsets[1:])
    if not np.isfinite(values).all():
        raise TokbenchError(f"{path}: column '{signal}' holds a value that is not a finite number; score it again")
    return values, offsets
