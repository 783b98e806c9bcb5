"""Documents, and the sharded Parquet in which a corpus lies on disk.

Checksums of corpora: of the documents, however many shards they lie in.

The manifest of a corpus: what was cut, tagged, left out, removed or read as bytes when it was prepared.

Documents without a language in a corpus where others have one: all of them get one tag when it is prepared.

The tag of documents without a language: none where no document of a text has one, else that of the undetermined.
"""

import hashlib
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.corpus.languages import UNDETERMINED
from tokbench.io.json import read_json
from tokbench.io.parquet import PIECE, batches, column_names, parquet, raw, require, strings

SCHEMA = pa.schema([("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())])
RESTS = b"tokbench.rests"
"""Key of a Parquet file's metadata: numbers of the rows that are further pieces of the document before."""
GROUP_BYTES = 8_000_000
"""Text with which a row group is full; the document that fills it is in it whole."""
READ_BYTES = 1 << 24
"""Text held in memory while shards are read, a share of it for each; a long document comes on top."""


class Document(NamedTuple):
    """One document: its position in the source, its language tag (empty where unknown) and its raw bytes."""

    document: int
    language: str
    text: bytes


class ContinuationPiece(Document):
    """A further piece of the document before it, which was too long.

    In a shard it is a row like others, and the file's metadata has the numbers of these rows, see :func:`noted_rests`.
    """

    __slots__ = ()


def noted_rests(numbers: Iterable[int]) -> dict[str, str]:
    """Return the entry of a Parquet file's metadata with the numbers of its further pieces; empty without any."""
    noted = ",".join(map(str, numbers))
    return {RESTS.decode(): noted} if noted else {}


def rests_in(file: pq.ParquetFile) -> frozenset[int]:
    """Return the numbers of a file's further pieces.

    Raises:
        ValueError: the entry of the metadata is not a list of numbers.
    """
    noted = (file.metadata.metadata or {}).get(RESTS, b"")
    return frozenset(map(int, noted.split(b","))) if noted else frozenset()


def read_shard(path: Path | str, size: int = PIECE) -> Iterator[Document]:
    """Documents of one shard in the order of the file, about ``size`` bytes of text at a time.

    Raises:
        TokbenchError: the shard is missing or not readable; the message names it.
    """
    with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again", in_pieces=True) as file:
        require(file.schema_arrow, document="whole numbers", language="text", text="text")
        read = partial(_documents, rests=rests_in(file))
        yield from chain.from_iterable(map(read, batches(file, SCHEMA.names, size)))


def _documents(batch: Any, rests: frozenset[int]) -> Iterator[Document]:
    numbers, tags, texts = (batch.column(name) for name in SCHEMA.names)
    if numbers.null_count or texts.null_count:
        raise ValueError("a document has no number or no text")
    return map(document_of(rests), numbers.to_pylist(), (tag or "" for tag in strings(tags)), raw(texts))  # type: ignore[arg-type]


def document_of(rests: frozenset[int]) -> Callable[[int, str, bytes], Document]:
    """Return what makes a :class:`Document` of a row, or a :class:`Rest` where its number is among these."""

    def made(number: int, language: str, text: bytes) -> Document:
        return (ContinuationPiece if number in rests else Document)(number, language, text)

    return made if rests else Document


def is_shard(path: Path | str) -> bool:
    """Whether a file is a shard of a corpus, as far as its columns tell; what cannot be read is none."""
    return column_names(path) == SCHEMA.names


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Documents of all shards in the order of the source, whatever the number of shards; all are open at once.

    About 10 MB are held for each shard, and beside them the longest documents.

    Raises:
        TokbenchError: see :func:`read_shard`.
    """
    read = partial(read_shard, size=min(PIECE, READ_BYTES // max(1, len(paths))))
    return heapq.merge(*map(read, paths), key=lambda document: document.document)


class SplitContents(NamedTuple):
    """What a split holds.

    Attributes:
        documents: how many; None of counts alone.
        bytes: of their text; None of counts alone.
        sha256: sixty-four hexadecimal digits.
    """

    documents: int | None
    bytes: int | None
    sha256: str


def checksums(documents: Iterable[Document]) -> SplitContents:
    """Number and bytes of documents, and SHA-256 of them in their order: for each its number, language and length, then
    its bytes."""
    found, number, size = hashlib.sha256(), 0, 0
    for document, language, text in documents:
        found.update(f"{document}\t{language}\t{len(text)}\n".encode())
        found.update(text)
        number += 1
        size += len(text)
    return SplitContents(number, size, found.hexdigest())


def splits_of(corpus: Path) -> dict[str, SplitContents]:
    """What the splits in a corpus's folder hold, by ``CORPUS/SPLIT``."""
    splits = sorted(path for path in corpus.iterdir() if path.is_dir() and any(path.glob("*.parquet")))
    return {f"{corpus.name}/{one.name}": checksums(read_documents(sorted(one.glob("*.parquet")))) for one in splits}


def counts_of(path: Path) -> dict[str, SplitContents]:
    """What a file of counts ``CORPUS/SPLIT/SCHEME.parquet`` holds, by its name without the ending."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return {"/".join((*path.parts[-3:-1], path.stem)): SplitContents(None, None, found)}


def contents_in(results: Path) -> dict[str, SplitContents]:
    """What the corpora in an experiment's folder hold: their splits, of those that are counts alone their files."""
    found: dict[str, SplitContents] = {}
    corpora = sorted(path for path in (results / "corpus").glob("*") if path.is_dir())
    for corpus in corpora:
        found |= splits_of(corpus)
    for path in sorted((results / "pretokens").glob("*/*/*.parquet")):
        if path.parts[-3] not in {corpus.name for corpus in corpora}:
            found |= counts_of(path)
    return found


MANIFEST = "manifest.json"
"""In the folder of a corpus with such findings, and in no other's."""
Findings = dict[str, str | list[str]]
"""Sentences by subject: ``cut_documents``, ``untagged_documents``, ``left_out``, ``byte_order_marks``, ``not_utf8``,
``bad_lines``, ``empty_lines``, ``duplicates`` and ``equal_files``."""


def write_findings(folder: Path, findings: Findings) -> None:
    """Write the manifest of a corpus, if there is anything to say."""
    if findings:
        (folder / MANIFEST).write_text(json.dumps(findings, ensure_ascii=False) + "\n", encoding="utf-8")


def read_findings(folder: Path) -> Findings:
    """Return what the manifest in a folder says; nothing where there is none.

    Raises:
        TokbenchError: it cannot be read; the message names it.
    """
    manifest = folder / MANIFEST
    return read_json(manifest, "prepare the corpus again") if manifest.is_file() else {}


def lines_of(findings: Findings) -> list[str]:
    """Return the sentences of a manifest, one a line."""
    return [line for found in findings.values() for line in ([found] if isinstance(found, str) else found)]


UNTAGGED = b"untagged"


def merge_untagged(languages: NDArray[np.int32], numbers: Mapping[str, int]) -> int:
    """Give documents without a language the number of undetermined ones where other documents have a language.

    Args:
        languages: the number of the language of each document, changed in place; negative numbers are no documents.
        numbers: the numbers of the languages, that of the empty tag for documents without one.

    Returns:
        How many documents without a language there are next to others with one.
    """
    own = numbers.get("")
    if own is None:
        return 0
    untagged = languages == own
    number = int(untagged.sum())
    if number == int((languages >= 0).sum()):
        return 0
    languages[untagged] = numbers.get(UNDETERMINED, own)
    return number


def found_untagged(number: int) -> dict[str, str]:
    """Return how many documents get a tag because others have one, for the manifest; empty where there are none."""
    return {"untagged_documents": note_of_untagged(number)} if number else {}


def note_of_untagged(number: int) -> str:
    """Return a line on how many documents get a tag because others have one."""
    some = "1 document has" if number == 1 else f"{number:,} documents have"
    return f"{some} no language and others have one; the tag '{UNDETERMINED}' (undetermined) is used"


def untagged_in(metadata: dict[bytes, bytes] | None) -> str:
    """Return the tag of documents without a language by the metadata of a file of places, empty for none."""
    return (metadata or {}).get(UNTAGGED, b"").decode()
