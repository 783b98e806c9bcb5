"""Reading the documents of a source, again and again, in its own order."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

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
from tokbench.errors import TokbenchError
from tokbench.inputs.files import read_lines, read_whole
from tokbench.inputs.json import HALF_PAIR, parse_json
from tokbench.inputs.parquet import is_text, parquet, raw, strings

REMEDY = "fetch or make the file again"


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


def _text_documents(path: Path, documents: str) -> Iterator[bytes]:
    if documents == "file":
        yield read_whole(path, REMEDY)
    else:
        yield from _units(read_lines(path, REMEDY), documents)


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
    for number, line in enumerate(read_lines(path, REMEDY), 1):
        if not line.strip():
            continue
        row = parse_json(line, str(path), line=number, remedy="mend the line", lenient=True)
        text = row.get(source.text_field) if isinstance(row, dict) else None
        if not isinstance(text, str):
            raise TokbenchError(
                f"{path}:{number}: not a JSON object with a string under '{source.text_field}'; mend the line"
            )
        yield _language(row, source, f"{path}:{number}"), text.encode("utf-8", "surrogatepass")


def _language(row: dict[str, Any], source: JsonLinesSource, place: str) -> str:
    """The language tag of a line, empty where it has none."""
    tag = (row.get(source.language_field) if source.language_field else None) or ""
    if not isinstance(tag, str | int) or HALF_PAIR.search(str(tag)):
        raise TokbenchError(f"{place}: the language under '{source.language_field}' is no text; mend the line")
    return str(tag)


def _parquet(path: Path, text_field: str, language_field: str | None) -> Iterator[tuple[str, bytes]]:
    columns = [text_field] + ([language_field] if language_field else [])
    with parquet(path, "readable as Parquet", REMEDY) as file:
        names = file.schema_arrow.names
        for column in columns:
            if column not in names:
                raise TokbenchError(f"{path}: no column '{column}' (there are {', '.join(names)})")
            kind = file.schema_arrow.field(column).type
            if not is_text(kind):
                raise TokbenchError(f"{path}: column '{column}' holds {kind}, not text; name another")
        number = 0
        for batch in file.iter_batches(batch_size=256, columns=columns, use_threads=False):
            texts = raw(batch.column(text_field))
            languages = strings(batch.column(language_field)) if language_field else [""] * len(texts)
            for text, language in zip(texts, languages, strict=True):
                number += 1
                if text is None:
                    raise TokbenchError(f"{path}: row {number} has no text in column '{text_field}'; fill or drop it")
                yield language or "", text
