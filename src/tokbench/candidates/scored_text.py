"""Documents with byte scores: the surprisal and entropy of every byte, as ByteSpan reads them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokbench.candidates import SignalName
from tokbench.candidates.running_text import ROWS_AT_ONCE, ShardForm, batches, check_shards, merge_documents, open_shard
from tokbench.errors import TokbenchError
from tokbench.io.identity import Maker, TextDigest, makers_of_metadata, require_same
from tokbench.io.parquet import pieces, require, strings

NUMBERS_AT_ONCE = 1 << 12
FORM = ShardForm("byte scores", "score_bytes", "score it again")


@dataclass(frozen=True, slots=True, eq=False)
class ScoredDocument:
    """One document and one signal.

    Attributes:
        document: its position in the source.
        language: its language tag, empty if unknown.
        text: its n bytes.
        signal: float32 [n], nats, the signal of each byte.
    """

    document: int
    language: str
    text: bytes
    signal: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ScoredDocuments:
    """Shards of byte scores: Parquet with ``document``, ``language``, ``text``, ``surprisal``, ``entropy``.

    They are read again on each call. Documents of files without a language column have the empty language.

    Attributes:
        paths: the shards.
        scheme: pre-tokenization of the tokenizer that is built from them, as named in pre-token counts.
        group: row group to read of one shard. Default: None, all of them.
    """

    paths: tuple[Path, ...]
    scheme: str
    group: int | None = None

    def parts(self) -> "list[ScoredDocuments]":
        """Split the documents into parts that may be read in parallel, in any order.

        Raises:
            TokbenchError: a shard is unreadable, out of order, or shares a document with another.
        """
        for _ in merge_documents(map(_numbers, self.paths), int, FORM):
            pass
        return [ScoredDocuments((path,), self.scheme, group) for path in self.paths for group in range(_groups(path))]

    def documents(self, signal: SignalName) -> Iterator[ScoredDocument]:
        """Yield all documents in document order. A few rows of each shard are in memory at a time.

        Raises:
            TokbenchError: a shard is unreadable, out of order, shares a document with another, or has a document whose
                signal is not one number per byte.
        """
        shards = (_documents(path, signal, self.group) for path in self.paths)
        yield from merge_documents(shards, attrgetter("document"), FORM)

    def signals(self, signal: SignalName) -> Iterator[NDArray[np.float32]]:
        """Yield all values of a signal in arrays, each of some documents, in no particular order."""
        for path in self.paths:
            with open_shard(path, FORM, signal) as file:
                for batch in pieces(file, [signal], ROWS_AT_ONCE, self.group):
                    yield _flat(path, signal, batch.column(signal))[0]


def read_scores(paths: Iterable[Path | str], scheme: str) -> ScoredDocuments:
    """Open byte scores in any order of the shards, for a given pre-tokenization.

    Raises:
        TokbenchError: there is no shard, or one of them is missing.
    """
    return ScoredDocuments(check_shards(paths, FORM), scheme)


def check_scores(paths: Sequence[Path | str], model: Maker | None = None) -> TextDigest:
    """Check that shards of byte scores are of one model, and return the digest of their text.

    Args:
        paths: the shards.
        model: the model. Default: that of the first shard.

    Raises:
        TokbenchError: a shard is unreadable, names no model, or names another one.
    """
    text = TextDigest()
    for path in check_shards(paths, FORM):
        with open_shard(path, FORM) as file:
            makers = makers_of_metadata(file.metadata.metadata)
            model = model or Maker(makers.get("model", ""), path)
            require_same(path, makers, "model", model, "score all shards with one model")
            text.add_metadata(file.metadata.metadata)
    return text


def _groups(path: Path) -> int:
    with open_shard(path, FORM) as file:
        return int(file.num_row_groups)


def _numbers(path: Path) -> Iterator[int]:
    """Yield the numbers of a shard's documents."""
    previous = None
    with open_shard(path, FORM, "document") as file:
        require(file.schema_arrow, document="whole numbers")
        for batch in pieces(file, ["document"], NUMBERS_AT_ONCE):
            for number in batch.column("document").to_pylist():
                if number is None or (previous is not None and number <= previous):
                    raise TokbenchError(f"{path}: document {number} is out of order or empty; {FORM.hint}")
                previous = number
                yield number


def _documents(path: Path, signal: SignalName, group: int | None) -> Iterator[ScoredDocument]:
    with open_shard(path, FORM, "document", "text", signal) as file:
        languages_column = ["language"] if "language" in file.schema_arrow.names else []
        for documents, texts, batch in batches(path, file, FORM, signal, *languages_column, group=group):
            values, offsets = _flat(path, signal, batch.column(signal))
            languages = strings(batch.column("language")) if languages_column else [""] * batch.num_rows
            for row, (document, language, text) in enumerate(zip(documents, languages, texts, strict=True)):
                numbers = values[offsets[row] : offsets[row + 1]]
                if len(numbers) != len(text):
                    raise TokbenchError(
                        f"{path}: document {document} has {len(text)} bytes but {len(numbers)} values of {signal}; "
                        f"{FORM.hint}"
                    )
                yield ScoredDocument(document, language or "", text, numbers)


def _flat(path: Path, signal: str, lists: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the concatenated values of a column of lists, and the start of each list."""
    kind = lists.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_float32(kind.value_type):
        raise TokbenchError(f"{path}: column '{signal}' has the type {kind}, not lists of float32; {FORM.hint}")
    values = lists.flatten().to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), out=offsets[1:])
    if not np.isfinite(values).all():
        raise TokbenchError(f"{path}: column '{signal}' contains a value that is not a finite number; {FORM.hint}")
    return values, offsets
