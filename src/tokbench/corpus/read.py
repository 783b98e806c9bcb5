"""Reading the documents of a source, again and again, in its own order."""

import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    HubSource,
    JsonLinesSource,
    ParquetSource,
    Source,
    TextSource,
    Unit,
    tagged_files,
)
from tokbench.registry import TokbenchError

TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
"""Parquet's types of text."""


def read_source(source: Source, cache: Path | None = None) -> Iterator[Document]:
    """Documents of a source, numbered from 0 in its order.

    Args:
        source: the source's options.
        cache: for a hub source, the Parquet file that its own rule has fetched.
    """
    tagged = ((language or source.language, text) for language, text in _texts(source, cache))
    for number, (language, text) in enumerate(within_limits(source, tagged)):
        yield Document(number, language, text)


def within_limits(source: Source, texts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The texts that a source's limits let through, renamed tags first; reading ends where no more can come."""
    most, taken, sizes = source.max_documents, 0, Counter[str]()
    for tag, text in texts:
        language = source.rename_languages.get(tag, tag)
        if source.languages is not None and language not in source.languages:
            continue
        if source.max_bytes_per_language is not None and sizes[language] >= source.max_bytes_per_language:
            if source.languages is not None and _all_full(source, sizes):
                return
            continue
        if most is not None and taken >= most:
            return
        sizes[language] += len(text)
        taken += 1
        yield language, text


def _all_full(source: Source, sizes: Counter[str]) -> bool:
    return all(sizes[language] >= (source.max_bytes_per_language or 0) for language in source.languages or ())


def _texts(source: Source, cache: Path | None) -> Iterable[tuple[str, bytes]]:
    match source:
        case EmbeddedSource():
            return (("en", text) for text in embedded_texts())
        case TextSource():
            return (
                (tag, text) for tag, file in tagged_files(source) for text in _text_documents(file, source.documents)
            )
        case JsonLinesSource():
            rows = ((tag or own, text) for tag, file in tagged_files(source) for own, text in _json_lines(file, source))
            return _cut(rows, source.documents)
        case ParquetSource():
            rows = (
                (tag or own, text)
                for tag, file in tagged_files(source)
                for own, text in _parquet(file, source.text_field, source.language_field)
            )
            return _cut(rows, source.documents)
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


@contextmanager
def _opened(path: Path) -> Iterator[io.BufferedIOBase]:
    try:
        with open_bytes(path) as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise TokbenchError(f"{path}: cannot be read ({error}); fetch or make the file again") from None


def _lines(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        yield from file


def _text_documents(path: Path, documents: str) -> Iterator[bytes]:
    if documents == "file":
        with _opened(path) as file:
            yield file.read()
    else:
        yield from _units(_lines(path), documents)


def _cut(rows: Iterable[tuple[str, bytes]], documents: Unit) -> Iterator[tuple[str, bytes]]:
    for language, text in rows:
        if documents == "whole":
            yield language, text
        else:
            yield from ((language, unit) for unit in _units(io.BytesIO(text), documents))


def _units(lines: Iterable[bytes], documents: str) -> Iterator[bytes]:
    """Lines, or paragraphs with the blank line that ends them: nothing is lost."""
    paragraph: list[bytes] = []
    for line in lines:
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
