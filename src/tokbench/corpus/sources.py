"""Where a corpus comes from: one class of options per source, each able to read its documents again and again."""

import glob
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BeforeValidator, Field

from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.registry import Options, TokbenchError


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | Path) else value


Paths = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]


class Source(Options):
    """What every source has."""

    max_documents: int | None = Field(None, ge=1)
    """Read only so many documents from the beginning."""
    language: str = ""
    """Language tag of documents that do not carry one."""


class EmbeddedSource(Source):
    """The English documentation that every CPython carries; needs no file."""

    type: Literal["embedded"]


class FileSource(Source):
    """A source that reads files of the user's."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them. May be left out and given on the command line instead."""


class TextSource(FileSource):
    """Text files (plain, gzip or zstd), each one document, or cut into documents at blank lines or line ends."""

    type: Literal["text"]
    documents: Literal["file", "paragraph", "line"] = "file"
    """What is one document: the whole file, a paragraph (blank line between), or a line."""


class JsonLinesSource(FileSource):
    """JSON Lines (plain, gzip or zstd), one document a line."""

    type: Literal["jsonl"]
    text_field: str = "text"
    """Key of the text."""
    language_field: str | None = "language"
    """Key of the language tag; lines without it take ``language``."""


class ParquetSource(FileSource):
    """Parquet files with a column of text (string or binary)."""

    type: Literal["parquet"]
    text_field: str = "text"
    """Column of the text."""
    language_field: str | None = None
    """Column of the language tag."""


class HubSource(Source):
    """A data set of the Hugging Face hub, streamed once by its own rule at a pinned revision."""

    type: Literal["hub"]
    dataset: str
    """Name on the hub, for example ``HuggingFaceFW/fineweb-edu``."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """Commit of the data set: 40 hexadecimal digits, so that the corpus can never change under its name."""
    config: str | None = None
    """Configuration (subset) of the data set."""
    split: str = "train"
    """Split of the data set on the hub."""
    text_field: str = "text"
    """Column of the text."""
    language_field: str | None = None
    """Column of the language tag."""


class CountsSource(FileSource):
    """Pre-token counts in place of text; tokenizers are built from them and measured on them.

    Either one file of counts (Parquet, or TSV ``hex<TAB>count``) or two: words with single spaces between them, and
    their counts, one a line. They stand for every scheme that a variant names.
    """

    type: Literal["counts"]


AnySource = Annotated[
    EmbeddedSource | TextSource | JsonLinesSource | ParquetSource | HubSource | CountsSource,
    Field(discriminator="type"),
]
SOURCE_TYPES = ("embedded", "text", "jsonl", "parquet", "counts")
"""Types of source that need no key but their type: paths may be given on the command line."""
TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
"""Parquet's types of text."""
SUFFIXES = {
    "text": (".txt", ".text", ".md"),
    "jsonl": (".jsonl", ".json", ".ndjson"),
    "parquet": (".parquet",),
    "counts": (".parquet", ".tsv"),
}


def files_of(source: FileSource) -> list[Path]:
    """The source's files, sorted within each entry of ``path``.

    Raises:
        TokbenchError: an entry matches no file.
    """
    files: list[Path] = []
    for entry in source.path:
        path = Path(entry)
        if path.is_file():
            files.append(path)
            continue
        if path.is_dir():
            endings = SUFFIXES[source.type]  # type: ignore[attr-defined]
            found = [
                file for file in path.rglob("*") if file.name.removesuffix(".gz").removesuffix(".zst").endswith(endings)
            ]
        else:
            found = [Path(name) for name in glob.glob(entry, recursive=True)]
        if not found:
            raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern")
        files.extend(sorted(file for file in found if file.is_file()))
    return files


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")


def read_source(source: Source, cache: Path | None = None) -> Iterator[Document]:
    """Documents of a source, numbered from 0 in its order.

    Args:
        source: the source's options.
        cache: for a hub source, the Parquet file that its own rule has fetched.
    """
    texts = _texts(source, cache)
    for number, (language, text) in enumerate(texts):
        if source.max_documents is not None and number >= source.max_documents:
            return
        yield Document(number, language or source.language, text)


def _texts(source: Source, cache: Path | None) -> Iterable[tuple[str, bytes]]:
    match source:
        case EmbeddedSource():
            return (("en", text) for text in embedded_texts())
        case TextSource():
            return (("", text) for file in files_of(source) for text in _text_documents(file, source.documents))
        case JsonLinesSource():
            return (row for file in files_of(source) for row in _json_lines(file, source))
        case ParquetSource():
            return (
                row for file in files_of(source) for row in _parquet(file, source.text_field, source.language_field)
            )
        case CountsSource():
            raise TokbenchError("a corpus of counts has no documents; build from its counts")
        case HubSource() if cache is not None:
            return _parquet(cache, "text", "language")
        case _:
            raise TokbenchError(f"a corpus of type '{source.type}' must be fetched before it is read")  # type: ignore[attr-defined]


def open_bytes(path: Path) -> io.BufferedIOBase:
    """Open a file for reading bytes, through gzip or zstd where its name ends so; a truncated file is an error."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix in (".zst", ".zstd"):
        return io.BufferedReader(pa.input_stream(path, compression="zstd"))
    return path.open("rb")


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_bytes(path) as lines:
            yield from lines
    except (OSError, EOFError, zlib.error) as error:
        raise TokbenchError(f"{path}: cannot be read ({error}); fetch or make the file again") from None


def _text_documents(path: Path, documents: str) -> Iterator[bytes]:
    if documents == "file":
        yield b"".join(_lines(path))
        return
    paragraph: list[bytes] = []
    for line in _lines(path):
        if documents == "line":
            yield line
            continue
        paragraph.append(line)
        if not line.strip() and len(paragraph) > 1:
            yield b"".join(paragraph)
            paragraph = []
    if paragraph:
        yield b"".join(paragraph)


def _json_lines(path: Path, source: JsonLinesSource) -> Iterator[tuple[str, bytes]]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text = row[source.text_field]
            language = row.get(source.language_field) or ""
            yield str(language), text.encode("utf-8", "surrogatepass")
        except (ValueError, KeyError, TypeError, AttributeError):
            key = source.text_field
            raise TokbenchError(
                f"{path}:{number}: not a JSON object with a string under '{key}'; mend the line"
            ) from None


def _parquet(path: Path, text_field: str, language_field: str | None) -> Iterator[tuple[str, bytes]]:
    columns = [text_field] + ([language_field] if language_field else [])
    try:
        with pq.ParquetFile(path) as file:
            missing = [column for column in columns if column not in file.schema_arrow.names]
            if missing:
                raise TokbenchError(
                    f"{path}: no column '{missing[0]}' (there are {', '.join(file.schema_arrow.names)})"
                )
            kind = file.schema_arrow.field(text_field).type
            if kind not in TEXT_TYPES:
                raise TokbenchError(f"{path}: column '{text_field}' holds {kind}, not text; name another")
            for batch in file.iter_batches(batch_size=256, columns=columns):
                texts = batch.column(text_field).to_pylist()
                languages = batch.column(language_field).to_pylist() if language_field else [""] * len(texts)
                for text, language in zip(texts, languages, strict=True):
                    yield language or "", text.encode() if isinstance(text, str) else text or b""
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(f"{path}: not readable as Parquet ({reason}); fetch or make the file again") from None
