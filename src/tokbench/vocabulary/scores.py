"""Documents scored byte by byte by a byte language model, as ByteSpan reads them."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.registry import TokbenchError

SignalName = Literal["surprisal", "entropy"]

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
        scheme: pre-tokenization of the tokenizer that is built from them.
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
            for batch in _batches(path, [signal]):
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
    for batch in _batches(path, ["document", "text", signal], ["language"]):
        values, offsets = _flat(path, signal, batch.column(signal))
        known = "language" in batch.schema.names
        languages = batch.column("language").to_pylist() if known else [""] * batch.num_rows
        documents, texts = batch.column("document").to_pylist(), batch.column("text").to_pylist()
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


def _batches(path: Path, columns: list[str], optional: list[str] | None = None) -> Iterator[Any]:
    """Rows of a file, some at a time: these columns, and the optional ones where the file has them."""
    try:
        with pq.ParquetFile(path) as file:
            missing = [column for column in columns if column not in file.schema_arrow.names]
            if missing:
                raise TokbenchError(f"{path}: no column '{missing[0]}' in this file of byte scores; score it again")
            present = [column for column in optional or [] if column in file.schema_arrow.names]
            yield from file.iter_batches(ROWS_AT_ONCE, columns=columns + present)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(f"{path}: not a readable file of byte scores ({reason}); score it again") from error


def _flat(path: Path, signal: str, lists: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The values of a column of lists end to end, and where each list starts."""
    if not pa.types.is_float32(getattr(lists.type, "value_type", None)):
        raise TokbenchError(f"{path}: column '{signal}' holds {lists.type}, not lists of float32; score it again")
    values = lists.flatten().to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=offsets[1:])
    if not np.isfinite(values).all():
        raise TokbenchError(f"{path}: column '{signal}' holds a value that is not a finite number; score it again")
    return values, offsets
