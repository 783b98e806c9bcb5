"""Documents, shards, checksums and the manifest of a corpus.

A corpus is stored as sharded Parquet. Its checksum covers the documents and does not depend on the number of shards.
The manifest lists documents that were cut, tagged, left out, changed or not UTF-8 when the corpus was prepared.

If some documents of a corpus have a language and others have none, the others get the tag ``und`` (undetermined).
"""

import hashlib
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.languages import UNDETERMINED
from tokbench.io.json import read_json
from tokbench.io.parquet import CHECKSUM, PIECE, batches, column_names, parquet, raw, require, strings

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

COLUMNS = ["document", "language", "text"]
"""Columns of a shard."""
DOMAIN = "domain"
"""Further column of the shards of a mixture: the name of the document's source."""
RESTS = b"tokbench.rests"
"""Key of a Parquet file's metadata: document numbers of continuation pieces."""
GROUP_BYTES = 8_000_000
"""Bytes of text at which a row group ends. A row group may be larger by its last document."""
READ_BYTES = 1 << 24
"""Bytes of text in memory while shards are read, divided by the number of shards; a long document needs more."""
MANIFEST = "manifest.json"
"""Manifest in a corpus's folder. The file exists only if there are findings."""
Findings = dict[str, str | list[str]]
"""Sentences by subject. The subjects are ``drawn``, ``cut_documents``, ``untagged_documents``, ``left_out``,
``byte_order_marks``, ``inner_byte_order_marks``, ``not_utf8``, ``bad_records``, ``empty_lines``, ``normalized``,
``duplicates`` and ``equal_files``."""
UNTAGGED = b"untagged"


@cache
def schema(with_domain: bool = False) -> "pa.Schema":
    """Return the schema of a shard.

    Args:
        with_domain: whether there is a column of domains, as in a mixture of sources (default: False).
    """
    import pyarrow as pa

    fields = list(zip(COLUMNS, (pa.int64(), pa.string(), pa.large_binary()), strict=True))
    return pa.schema([*fields[:2], (DOMAIN, pa.string()), fields[2]] if with_domain else fields)


class Document(NamedTuple):
    """One document: its position in the source, its language tag (empty where unknown) and its raw bytes."""

    document: int
    language: str
    text: bytes


class ContinuationPiece(Document):
    """A continuation of the previous document, which was too long for one row.

    In a shard it is a row like others. The file's metadata lists the numbers of these rows, see :func:`noted_rests`.
    """

    __slots__ = ()


def noted_rests(numbers: Iterable[int]) -> dict[str, str]:
    """Return the metadata entry of a Parquet file that lists its continuation pieces; empty if there are none."""
    noted = ",".join(map(str, numbers))
    return {RESTS.decode(): noted} if noted else {}


def rests_in(file: "pq.ParquetFile") -> frozenset[int]:
    """Return the document numbers of a file's continuation pieces.

    Raises:
        ValueError: the metadata entry is not a list of numbers.
    """
    noted = (file.metadata.metadata or {}).get(RESTS, b"")
    return frozenset(map(int, noted.split(b","))) if noted else frozenset()


def read_shard(path: Path | str, size: int = PIECE) -> Iterator[Document]:
    """Read the documents of one shard in file order, about ``size`` bytes of text at a time.

    Raises:
        TokbenchError: the shard is missing or not readable; the message names it.
    """
    with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again", in_pieces=True) as file:
        require(file.schema_arrow, document="whole numbers", language="text", text="text")
        read = partial(_documents, rests=rests_in(file))
        yield from chain.from_iterable(map(read, batches(file, COLUMNS, size)))


def _documents(batch: Any, rests: frozenset[int]) -> Iterator[Document]:
    numbers, tags, texts = (batch.column(name) for name in COLUMNS)
    if numbers.null_count or texts.null_count:
        raise ValueError("a document has no number or no text")
    return map(document_of(rests), numbers.to_pylist(), (tag or "" for tag in strings(tags)), raw(texts))  # type: ignore[arg-type]


def document_of(rests: frozenset[int]) -> Callable[[int, str, bytes], Document]:
    """Return a function that builds a :class:`Document` from a row, or a :class:`ContinuationPiece` for the given
    numbers."""

    def make_document(number: int, language: str, text: bytes) -> Document:
        return (ContinuationPiece if number in rests else Document)(number, language, text)

    return make_document if rests else Document


def is_shard(path: Path | str) -> bool:
    """Return whether a file has the columns of a corpus shard; False if it cannot be read."""
    return [name for name in column_names(path) if name != DOMAIN] == COLUMNS


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Read the documents of all shards in the order of the source. All shards are open at once.

    Needs about 10 MB of memory per shard, plus the longest documents.

    Raises:
        TokbenchError: see :func:`read_shard`.
    """
    read = partial(read_shard, size=min(PIECE, READ_BYTES // max(1, len(paths))))
    return heapq.merge(*map(read, paths), key=lambda document: document.document)


def read_domains(paths: Sequence[Path | str]) -> tuple[list[int], list[str]]:
    """Read the domain of each document of a mixture.

    Returns:
        Numbers of the documents, ascending, and their domains; empty for shards without domains.

    Raises:
        TokbenchError: a shard is missing or not readable; the message names it.
    """
    rows: list[tuple[int, str]] = []
    for path in paths:
        with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again", in_pieces=True) as file:
            if DOMAIN in file.schema_arrow.names:
                require(file.schema_arrow, document="whole numbers", domain="text")
                for batch in batches(file, ["document", DOMAIN]):
                    rows += zip(batch.column("document").to_pylist(), batch.column(DOMAIN).to_pylist(), strict=True)
    rows.sort()
    return [number for number, _ in rows], [domain for _, domain in rows]


class SplitContents(NamedTuple):
    """Size and checksum of a split.

    Attributes:
        documents: number of documents; None for a corpus of counts.
        bytes: bytes of their text; None for a corpus of counts.
        sha256: SHA-256, 64 hexadecimal digits.
    """

    documents: int | None
    bytes: int | None
    sha256: str


def checksums(documents: Iterable[Document]) -> SplitContents:
    """Count documents and bytes, and compute the SHA-256 of the documents in order.

    The hash covers number, language, length and bytes of each document.
    """
    content, number, size = hashlib.sha256(), 0, 0
    for document, language, text in documents:
        content.update(f"{document}\t{language}\t{len(text)}\n".encode())
        content.update(text)
        number += 1
        size += len(text)
    return SplitContents(number, size, content.hexdigest())


def splits_of(corpus: Path) -> dict[str, SplitContents]:
    """Return size and checksum of each split in a corpus's folder, by ``CORPUS/SPLIT``."""
    splits = sorted(path for path in corpus.iterdir() if path.is_dir() and any(path.glob("*.parquet")))
    return {f"{corpus.name}/{path.name}": checksums(read_documents(sorted(path.glob("*.parquet")))) for path in splits}


def counts_of(path: Path) -> dict[str, SplitContents]:
    """Return the checksum of the rows of a counts file ``CORPUS/SPLIT/SCHEME.parquet``, by its name without the ending.

    Raises:
        TokbenchError: the file is missing or damaged, or has no checksum.
    """
    with parquet(path, "counts of pre-tokens with a checksum", "delete it and run the workflow again") as file:
        checksum = file.metadata.metadata[CHECKSUM.encode()].decode()
    return {"/".join((*path.parts[-3:-1], path.stem)): SplitContents(None, None, checksum)}


def contents_in(results: Path) -> dict[str, SplitContents]:
    """Return size and checksum of all splits in an experiment's folder; for corpora of counts, of their
    counts."""
    contents: dict[str, SplitContents] = {}
    corpora = sorted(path for path in (results / "corpus").glob("*") if path.is_dir())
    for corpus in corpora:
        contents |= splits_of(corpus)
    for path in sorted((results / "pretokens").glob("*/*/*.parquet")):
        if path.parts[-3] not in {corpus.name for corpus in corpora}:
            contents |= counts_of(path)
    return contents


def write_findings(folder: Path, findings: Findings) -> None:
    """Write the manifest of a corpus unless it is empty."""
    if findings:
        (folder / MANIFEST).write_text(json.dumps(findings, ensure_ascii=False) + "\n", encoding="utf-8")


def read_findings(folder: Path) -> Findings:
    """Read the manifest in a folder; empty if there is none.

    Raises:
        TokbenchError: it cannot be read; the message names it.
    """
    manifest = folder / MANIFEST
    return read_json(manifest, "prepare the corpus again") if manifest.is_file() else {}


def lines_of(findings: Findings) -> list[str]:
    """Return the sentences of a manifest, one a line."""
    return [line for finding in findings.values() for line in ([finding] if isinstance(finding, str) else finding)]


def merge_untagged(languages: NDArray[np.int32], numbers: Mapping[str, int]) -> int:
    """Set the language of untagged documents to undetermined if other documents have a language.

    Args:
        languages: index of the language of each document, changed in place; negative entries are not documents.
        numbers: index by language; the key of untagged documents is the empty string.

    Returns:
        Number of untagged documents; 0 if no document has a language.
    """
    untagged_number = numbers.get("")
    if untagged_number is None:
        return 0
    untagged = languages == untagged_number
    number = int(untagged.sum())
    if number == int((languages >= 0).sum()):
        return 0
    languages[untagged] = numbers.get(UNDETERMINED, untagged_number)
    return number


def untagged_findings(number: int) -> dict[str, str]:
    """Return the manifest entry for documents that get a tag because others have one; empty if there are none."""
    return {"untagged_documents": note_of_untagged(number)} if number else {}


def note_of_untagged(number: int) -> str:
    """Return a line with the number of documents that get a tag because others have one."""
    subject = "1 document has" if number == 1 else f"{number:,} documents have"
    return f"{subject} no language and others have one; the tag '{UNDETERMINED}' (undetermined) is used"


def untagged_in(metadata: dict[bytes, bytes] | None) -> str:
    """Return the tag of documents without a language, from the metadata of a file of places; empty for no tag."""
    return (metadata or {}).get(UNTAGGED, b"").decode()
