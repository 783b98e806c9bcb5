"""Reading the documents of a source, again and again, in its own order."""

import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from tokbench.allowance import Largest
from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.limits import Limits, is_limited
from tokbench.corpus.long_lines import long_strings
from tokbench.corpus.parallel.pairs import languages_in
from tokbench.corpus.parts import WHOLE, Span, row_groups
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    FileSource,
    HubSource,
    JsonLinesSource,
    ParallelSource,
    ParquetSource,
    Source,
    TextSource,
    Unit,
    tagged_files,
)
from tokbench.errors import TokbenchError, listed
from tokbench.inputs.files import read_lines, read_whole
from tokbench.inputs.json import HALF_PAIR, parse_json
from tokbench.inputs.parquet import batches, is_text, parquet, raw, strings

REMEDY = "fetch or make the file again"
AROUND = 1 << 16
"""Bytes of a column in Parquet that may be none of its texts."""
Texts = Iterator[tuple[str, bytes]]
"""Language tags, empty where nothing tells one, and texts."""


def read_source(
    source: Source, cache: Path | None = None, largest: Largest | None = None, span: Span = WHOLE
) -> Iterator[Document]:
    """Documents of a source, numbered from 0 in its order.

    A document is held here until it is handed on and no longer, or two long ones would be held at once; hence the
    functions that are mapped, where loops would keep what they last saw.

    Args:
        source: the source's options.
        cache: for a hub source the Parquet file that its own rule has fetched, for a parallel one the training split.
        largest: the longest text that is taken; any where left out.
        span: how much of its first and of its last file is read, where these are Parquet.

    Raises:
        TokbenchError: a file cannot be read, or a text is longer than ``largest``; the message names file and line.
    """

    def document(number: int, text: tuple[str, bytes]) -> Document:
        return Document(number, *text)

    def tagged(text: tuple[str, bytes]) -> tuple[str, bytes]:
        return text if text[0] else (source.language, text[1])

    texts = _texts(source, cache, largest, span)
    return map(document, itertools.count(), within_limits(source, map(tagged, texts) if source.language else texts))


def within_limits(source: Source, texts: Iterable[tuple[str, bytes]]) -> Texts:
    """The texts that a source's limits let through, renamed tags first; reading ends where no more can come."""
    if not is_limited(source) and not source.rename_languages:
        return iter(texts)
    end: tuple[str, bytes] = ("", b"")
    limits = Limits(source)

    def admitted(text: tuple[str, bytes]) -> tuple[str, bytes] | None:
        language = source.rename_languages.get(text[0], text[0])
        if limits.admit(language, len(text[1])):
            return language, text[1]
        return end if limits.ended else None

    return filter(None, itertools.takewhile(lambda text: text is not end, map(admitted, texts)))


def _texts(source: Source, cache: Path | None, largest: Largest | None, span: Span) -> Texts:
    """Tags, empty where there is none, and texts."""
    match source:
        case EmbeddedSource():
            return (("en", text) for text in embedded_texts())
        case TextSource():
            return _of_files(source, lambda file, _: _text_documents(file, source.documents, largest))
        case JsonLinesSource():
            return _cut(_of_files(source, lambda file, _: _json_lines(file, source, largest)), source.documents)
        case ParquetSource():
            fields = source.text_field, source.language_field
            rows = _of_files(source, lambda file, part: _parquet(file, *fields, largest, part), span)
            return _cut(rows, source.documents)
        case CountsSource():
            raise TokbenchError("a corpus of counts has no documents; build from its counts")
        case HubSource() if cache is not None:
            return _parquet(cache, "text", "language", largest, span)
        case ParallelSource() if cache is not None:
            return chain.from_iterable(_side(cache, language, largest) for language in languages_in(cache))
        case _:
            raise TokbenchError(f"a corpus of type '{source.type}' must be fetched before it is read")  # type: ignore[attr-defined]


def _side(path: Path, language: str, largest: Largest | None) -> Texts:
    return map(_pair, repeat(language), (text for _, text in _parquet(path, language, None, largest)))


def _of_files(source: FileSource, read: Callable[[Path, Span], Texts], span: Span = WHOLE) -> Texts:
    """The texts of all files, one file open at a time; a file's own tag goes before those of its texts."""
    files = tagged_files(source)
    begins = chain([span.begin], repeat(Fraction(0)))
    ends = chain(repeat(Fraction(1), len(files) - 1), [span.end])

    def tagged(tag: str, text: tuple[str, bytes]) -> tuple[str, bytes]:
        return tag or text[0], text[1]

    return chain.from_iterable(
        map(tagged, repeat(tag), read(file, part)) if tag else read(file, part)
        for (tag, file), part in zip(files, map(Span, begins, ends), strict=False)
    )


def _text_documents(path: Path, documents: str, largest: Largest | None) -> Texts:
    texts: Iterator[bytes]
    if documents == "file":
        texts = (read_whole(path, REMEDY, largest=largest) for _ in range(1))
    else:
        texts = _units(read_lines(path, REMEDY, largest), documents)
    return map(_pair, repeat(""), texts)


def _pair(tag: str, text: bytes) -> tuple[str, bytes]:
    return tag, text


def _cut(rows: Texts, documents: Unit) -> Texts:
    def units(row: tuple[str, bytes]) -> Texts:
        return map(_pair, repeat(row[0]), _units(io.BytesIO(row[1]), documents))

    return rows if documents == "whole" else chain.from_iterable(map(units, rows))


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


def _json_lines(path: Path, source: JsonLinesSource, largest: Largest | None) -> Texts:
    def text(number: int, line: bytes) -> tuple[str, bytes] | None:
        return _text_of_line(line, source, path, number) if line.strip() else None

    return filter(None, map(text, itertools.count(1), read_lines(path, REMEDY, largest)))


def _text_of_line(line: bytes, source: JsonLinesSource, path: Path, number: int) -> tuple[str, bytes]:
    """Language tag and text of one line."""
    place = f"{path}:{number}"
    if (cut := long_strings(line)) is not None:
        rest, long = cut
        try:
            language, text = _fields(parse_json(rest, str(path), line=number, lenient=True), source, place)
            if language not in long:
                return language, long.pop(text, None) or text.encode("utf-8", "surrogatepass")
        except TokbenchError:
            pass  # The whole line has the places that messages tell.
    language, text = _fields(
        parse_json(line, str(path), line=number, remedy="mend the line", lenient=True), source, place
    )
    return language, text.encode("utf-8", "surrogatepass")


def _fields(row: Any, source: JsonLinesSource, place: str) -> tuple[str, str]:
    """Language tag and text of what a line holds."""
    text = row.get(source.text_field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise TokbenchError(f"{place}: not a JSON object with a string under '{source.text_field}'; mend the line")
    return _language(row, source, place), text


def _language(row: dict[str, Any], source: JsonLinesSource, place: str) -> str:
    """The language tag of a line, empty where it has none."""
    tag = (row.get(source.language_field) if source.language_field else None) or ""
    if not isinstance(tag, str | int) or HALF_PAIR.search(str(tag)):
        raise TokbenchError(f"{place}: the language under '{source.language_field}' is no text; mend the line")
    return str(tag)


def _check_groups(path: Path, file: Any, groups: range, column: str, largest: Largest) -> None:
    """Reject a file whose mean text of a row group is too long already, before Arrow reads it as a whole."""
    for group in groups:
        about = file.metadata.row_group(group)
        chunks = map(about.column, range(about.num_columns))
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column)
        largest.check(f"{path}: row group {group + 1}", (size - AROUND) // max(1, about.num_rows), more=True)


def _parquet(
    path: Path, text_field: str, language_field: str | None, largest: Largest | None, span: Span = WHOLE
) -> Texts:
    columns = [text_field] + ([language_field] if language_field else [])
    with parquet(path, "readable as Parquet", REMEDY, in_pieces=True) as file:
        names = file.schema_arrow.names
        for column in columns:
            if column not in names:
                raise TokbenchError(f"{path}: no column '{column}' (there are {listed(names)})")
            kind = file.schema_arrow.field(column).type
            if not is_text(kind):
                raise TokbenchError(f"{path}: column '{column}' holds {kind}, not text; name another")
        groups = row_groups(file.metadata, span)
        if largest is not None:
            _check_groups(path, file, groups, text_field, largest)
        numbers = itertools.count(1 + sum(file.metadata.row_group(group).num_rows for group in range(groups.start)))

        def text(language: str | None, cell: bytes | None) -> tuple[str, bytes]:
            number = next(numbers)
            if cell is None:
                raise TokbenchError(f"{path}: row {number} has no text in column '{text_field}'; fill or drop it")
            if largest is not None:
                largest.check(f"{path}: row {number}", len(cell))
            return language or "", cell

        def texts(batch: Any) -> Texts:
            languages = strings(batch.column(language_field)) if language_field else repeat("")
            return map(text, languages, raw(batch.column(text_field)))

        yield from chain.from_iterable(map(texts, batches(file, columns, groups=groups)))
