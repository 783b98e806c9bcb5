"""Readers of all types of sources. A source may be read any number of times, in the same order.

Also checks of the first document of each language before any other work, and of the memory for decompression: some
compressed files need many megabytes of earlier text.
"""

import io
import itertools
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.corpus.json_lines import SKIP, LineReader
from tokbench.corpus.languages import is_tag, not_a_tag
from tokbench.corpus.long_documents import GOES_ON, PART, Cutter, Text, Texts, documents_of, split_stream
from tokbench.corpus.parts import WHOLE, ReadSpan, row_groups
from tokbench.corpus.shards import LONG
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    FileSource,
    HubSource,
    JsonLinesSource,
    Limits,
    ParallelSource,
    ParquetSource,
    Source,
    TextSource,
    check_content,
    embedded_texts,
    is_limited,
    tagged_files,
)
from tokbench.errors import TokbenchError, check_once, listed
from tokbench.io.compression import HEAD, LARGEST_WINDOW, USUAL_WINDOW, compression_of, window_of
from tokbench.io.encodings import UTF_8, Notes, as_utf8, reject_mark
from tokbench.io.parquet import batches, column_of, is_text, parquet, raw, steps_of, strings, type_of, views
from tokbench.io.text_files import Convert, opened, read_lines, read_whole
from tokbench.runtime.memory_limit import LEAST, DocumentLimit, MemoryLimit, to_allow

REMEDY = "fetch or make the file again"
AROUND = 1 << 16
"""Bytes of a Parquet column chunk that may not belong to texts."""
COPIES = 3
"""Copies in memory of each row that is cut: page, dictionary and column of Arrow, or line of JSON, its text and its
parts."""
Row = tuple[str, bytes | memoryview]
"""Language tag (empty if unknown) and text."""


def texts_of_rows(
    path: Path,
    text_field: str,
    language_field: str | None,
    largest: DocumentLimit | None,
    span: ReadSpan = WHOLE,
    longest: int | None = None,
    skipped: Notes | None = None,
) -> Iterator[Row]:
    """Yield language tag (empty if missing) and text of each row of a Parquet file.

    Arrow reads each text completely. A text that will be cut is returned as a view of Arrow's memory.

    Args:
        path: the file.
        text_field: column of the text, or path to a field of a structure with dots between the names.
        language_field: column of the language tag, likewise.
        largest: limit on the length of a text (default: none).
        span: range of the file to read.
        longest: bytes above which the caller cuts a text (default: never).
        skipped: counter of rows whose text is null, which are then left out (default: such a row is an error).

    Raises:
        TokbenchError: the file cannot be read, a column is missing or not text, a text is null, or longer than
            ``largest``; the message names file and row.
    """
    if longest is not None and largest is not None:
        largest = largest.of_copies(COPIES)
    columns = [text_field] + ([language_field] if language_field else [])
    with parquet(path, "readable as Parquet", REMEDY, in_pieces=True) as file:
        names = file.schema_arrow.names
        steps = {column: steps_of(column, names) for column in columns}
        check_once(path, names, {steps[column][0] for column in columns})
        for column in columns:
            kind = type_of(file.schema_arrow, steps[column])
            if kind is None:
                raise TokbenchError(f"{path}: no column '{column}' (there are {listed(names)})")
            if not is_text(kind):
                raise TokbenchError(f"{path}: column '{column}' has type {kind}, not text; name another")
        groups = row_groups(file.metadata, span)
        if largest is not None:
            _check_groups(path, file, groups, text_field, largest)
        numbers = itertools.count(1 + sum(file.metadata.row_group(group).num_rows for group in range(groups.start)))

        def text(language: str | None, cell: bytes | memoryview | None) -> Row | None:
            number = next(numbers)
            if cell is None and skipped is not None:
                skipped.bad_rows += 1
                return None
            if cell is None:
                raise TokbenchError(f"{path}: row {number} has no text in column '{text_field}'; fill it, or {SKIP}")
            if not is_tag(language or "") and skipped is not None:
                skipped.bad_rows += 1
                return None
            if not is_tag(language or ""):
                raise TokbenchError(f"{path}: row {number}: {not_a_tag(language or '')}; correct it, or {SKIP}")
            if largest is not None:
                largest.check(f"{path}: row {number}", len(cell))
            return language or "", cell

        def texts(batch: Any) -> Iterator[Row]:
            languages = strings(column_of(batch, steps[language_field])) if language_field else repeat("")
            return filter(None, map(text, languages, _cells(column_of(batch, steps[text_field]), longest)))

        yield from chain.from_iterable(map(texts, batches(file, columns, groups=groups)))


def _cells(column: Any, longest: int | None) -> Iterable[bytes | memoryview | None]:
    return raw(column) if longest is None or column.nbytes <= longest else views(column)


def _check_groups(path: Path, file: Any, groups: range, column: str, largest: DocumentLimit) -> None:
    """Reject a file if the mean text of a row group is already too long, before Arrow reads the row group."""
    for group in groups:
        about = file.metadata.row_group(group)
        chunks = map(about.column, range(about.num_columns))
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column)
        largest.check(f"{path}: row group {group + 1}", (size - AROUND) // max(1, about.num_rows), more=True)


def read_source(
    source: Source,
    cache: Path | None = None,
    largest: DocumentLimit | None = None,
    span: ReadSpan = WHOLE,
    longest: int | None = None,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Read the documents of a source, numbered from 0 in its order.

    Uses ``map`` instead of ``for`` loops so that no reference to the previous document keeps it in memory.

    Args:
        source: options of the source.
        cache: for a hub source the downloaded Parquet file, for a parallel source the training split.
        largest: limit on the length of a text (default: none).
        span: range of the files to read; only Parquet files can be read partially.
        longest: bytes above which a document is yielded in pieces (default: never): a :class:`Document`, then
            :class:`~tokbench.corpus.documents.ContinuationPiece`, each with its own number. A row of Parquet or a line
            of JSON is in memory at once, with three bytes per byte.
        notes: counts of text that is removed, left out or not UTF-8.

    Raises:
        TokbenchError: a file cannot be read, or a text is longer than ``largest``; the message names file and line.
    """
    before = ""

    def document(number: int, text: Text) -> Document:
        nonlocal before
        if text[0] is GOES_ON:
            return ContinuationPiece(number, before, text[1])
        before = text[0]
        return Document(number, before, text[1])

    def tagged(text: Text) -> Text:
        return text if text[0] or text[0] is GOES_ON else (source.language, text[1])

    texts = _texts(source, cache, largest, span, longest, notes)
    return map(document, itertools.count(), within_limits(source, map(tagged, texts) if source.language else texts))


def holds_rows(source: Source) -> bool:
    """Return whether texts are completely in memory before they are cut, as rows of Parquet and lines of JSON are."""
    return isinstance(source, JsonLinesSource | ParquetSource | HubSource | ParallelSource)


def within_limits(source: Source, texts: Iterable[Text]) -> Texts:
    """Yield the texts within a source's limits, with renamed tags; stop as soon as no more can follow."""
    if not is_limited(source) and not source.rename_languages:
        return iter(texts)
    end: Text = ("", b"")
    limits = Limits(source)

    def admitted(text: Text) -> Text | None:
        if text[0] is GOES_ON:
            return text if limits.admit_piece(GOES_ON, len(text[1])) else None
        language = source.rename_languages.get(text[0], text[0])
        if limits.admit(language, len(text[1])):
            return language, text[1]
        return end if limits.ended else None

    return filter(None, itertools.takewhile(lambda text: text is not end, map(admitted, texts)))


def _texts(
    source: Source,
    cache: Path | None,
    largest: DocumentLimit | None,
    span: ReadSpan,
    longest: int | None,
    notes: Notes | None,
) -> Texts:
    """Yield tags (empty if missing) and texts."""
    cutter = None if longest is None else Cutter(longest, largest, "the source")
    match source:
        case EmbeddedSource():
            return _cut((("en", text) for text in embedded_texts()), "whole", cutter)
        case TextSource():
            return _of_files(source, lambda file, _: _text_documents(file, source, largest, longest, notes))
        case JsonLinesSource():
            return _of_files(source, lambda file, _: _json_lines(file, source, largest, longest, notes))
        case ParquetSource():
            fields = source.text_field, source.language_field
            skipped = (notes or Notes()) if source.bad_lines == "skip" else None

            def rows(file: Path, part: ReadSpan) -> Texts:
                found = texts_of_rows(file, *fields, largest, part, longest, skipped)
                return _cut(found, source.documents, cutter, notes)

            return _of_files(source, rows, span)
        case CountsSource():
            raise TokbenchError("a corpus of counts has no documents; build from its counts")
        case HubSource() if cache is not None:
            return _cut(texts_of_rows(cache, "text", "language", largest, span, longest), "whole", cutter)
        case ParallelSource() if cache is not None:
            from tokbench.corpus.parallel_read import languages_in

            sides = (
                _tagged(language, _cut(texts_of_rows(cache, language, None, largest, WHOLE, longest), "whole", cutter))
                for language in languages_in(cache)
            )
            return chain.from_iterable(sides)
        case _:
            raise TokbenchError(f"a corpus of type '{source.type}' must be fetched before it is read")  # type: ignore[attr-defined]


def _tagged(tag: str, texts: Texts) -> Texts:
    """Add the tag of a file or side to its texts, in place of their own tags."""

    def tagged(text: Text) -> Text:
        return (GOES_ON if text[0] is GOES_ON else tag or text[0]), text[1]

    return map(tagged, texts)


def _of_files(source: FileSource, read: Callable[[Path, ReadSpan], Texts], span: ReadSpan = WHOLE) -> Texts:
    """Yield the texts of all files, with one file open at a time; the tag of a file takes precedence over those of its
    texts."""
    files = tagged_files(source)
    begins = chain([span.begin], repeat(Fraction(0)))
    ends = chain(repeat(Fraction(1), len(files) - 1), [span.end])

    def texts(file: Path, part: ReadSpan) -> Texts:
        check_content(file, source)
        return read(file, part)

    return chain.from_iterable(
        _tagged(tag, texts(file, part)) if tag else texts(file, part)
        for (tag, file), part in zip(files, map(ReadSpan, begins, ends), strict=False)
    )


def _text_documents(
    path: Path, source: TextSource, largest: DocumentLimit | None, longest: int | None, notes: Notes | None
) -> Texts:
    text = partial(as_utf8, place=str(path), encoding=source.encoding, notes=notes)
    texts: Iterator[bytes]
    if longest is not None:
        return _in_pieces(path, source.documents, Cutter(longest, largest, str(path)), text, notes)
    if source.documents == "file":
        texts = (read_whole(path, REMEDY, largest, text) for _ in range(1))
    else:
        texts = _units(read_lines(path, REMEDY, largest, text), source.documents, notes)
    return map(_pair, repeat(""), texts)


def _in_pieces(path: Path, documents: str, cutter: Cutter, text: Convert, notes: Notes | None) -> Texts:
    with opened(path, REMEDY) as file:
        yield from split_stream(text(file), documents, cutter, notes=notes)


def _json_lines(
    path: Path, source: JsonLinesSource, largest: DocumentLimit | None, longest: int | None, notes: Notes | None
) -> Texts:
    reader = LineReader(source, notes)

    def row(number: int, line: bytes) -> Row | None:
        return reader.text_of(line, f"{path}:{number}") if line.strip() else None

    def json(file: io.BufferedReader) -> io.BufferedReader:
        if source.encoding != UTF_8:
            return as_utf8(file, str(path), source.encoding, notes)
        return _marked(file, str(path), notes)

    cutter = None if longest is None else Cutter(longest, largest, str(path))
    if longest is not None and largest is not None:
        largest = largest.of_copies(COPIES)
    rows = filter(None, map(row, itertools.count(1), read_lines(path, REMEDY, largest, json)))
    return _cut(rows, source.documents, cutter, notes)


def _marked(file: io.BufferedReader, place: str, notes: Notes | None) -> io.BufferedReader:
    """Skip and count a byte-order mark of UTF-8 JSON. The reader of lines reports invalid bytes with their line."""
    head = file.peek(len(BOM_UTF8))
    reject_mark(head, place)
    if notes is not None and head.startswith(BOM_UTF8):
        notes.marks += 1
    return file


def _pair(tag: str, text: bytes) -> Text:
    return tag, text


def _cut(rows: Iterator[Row], documents: str, cutter: Cutter | None, notes: Notes | None = None) -> Texts:
    """Split each row into documents, in pieces if they are long."""

    def units(row: Row) -> Texts:
        tag, text = row
        if cutter is not None and len(text) > cutter.longest:
            view = memoryview(text)
            return documents_of(
                (view[at : at + PART] for at in range(0, len(view), PART)), documents, cutter, tag, notes
            )
        whole = bytes(text)  # No copy if text is bytes.
        if documents == "whole":
            return iter([(tag, whole)])
        return map(_pair, repeat(tag), _units(io.BytesIO(whole), documents, notes))

    return chain.from_iterable(map(units, rows))


def _units(lines: Iterable[bytes], documents: str, notes: Notes | None) -> Iterator[bytes]:
    """Yield the non-empty lines, or the paragraphs with the blank line that ends them."""
    paragraph: list[bytes] = []
    for line in lines:
        if documents == "line":
            if line.strip():
                yield line
            elif notes is not None:
                notes.empty_lines += 1
            continue
        paragraph.append(line)
        if not line.strip() and len(paragraph) > 1:
            yield b"".join(paragraph)
            paragraph = []
    if paragraph:
        yield b"".join(paragraph)


def mistakes_of_fields(source: FileSource) -> list[str]:
    """Return error messages for the beginning of the first file under each language tag.

    Raises:
        TokbenchError: an entry matches no file.
    """
    first = dict(reversed(tagged_files(source)))
    if isinstance(source, CountsSource):
        return []
    found = []
    longest = PART if isinstance(source, TextSource) else LONG
    for file in first.values():
        alone = source.model_copy(update={"path": [str(file)], "max_documents": 1, "languages": None})
        notes = Notes()
        try:
            if not list(islice(read_source(alone, longest=longest, notes=notes), 1)) and (
                bad := notes.bad_lines + notes.bad_rows
            ):
                found.append(f"{file}: no line is good ({bad:,} bad ones); name the fields that it has")
        except TokbenchError as error:
            found.append(str(error))
    return found


LINE_READERS = 2
"""Number of readers of a JSON Lines file: a second one follows for long strings."""


def check_windows(sources: Sequence[Source], room: int, megabytes: int) -> int:
    """Return the maximum bytes of decompression windows, beyond the general reserve.

    Args:
        sources: sources whose files are read one after another.
        room: free memory in bytes.
        megabytes: memory limit, for messages.

    Raises:
        TokbenchError: a file needs more than is allowed.
    """
    most = 0
    for source in sources:
        if not isinstance(source, TextSource | JsonLinesSource):
            continue
        for _, path in tagged_files(source):
            with path.open("rb") as file:
                head = file.read(HEAD)
            compression = compression_of(head)
            window = window_of(head, compression)
            if not USUAL_WINDOW < window <= LARGEST_WINDOW:  # A larger one is rejected when the file is opened.
                continue
            held = window * (LINE_READERS if isinstance(source, JsonLinesSource) else 1)
            if held + LEAST > room:
                needed = to_allow(megabytes * 1_000_000 - room + held + LEAST)
                raise TokbenchError(
                    f"{path}: {compression} with a window of {window:,} bytes needs about {needed:,} MB of memory, and "
                    f"{megabytes:,} are allowed; allow more (--memory), or compress it with a smaller window"
                )
            most = max(most, held)
    return most


def without_windows(allowed: MemoryLimit, source: Source) -> MemoryLimit:
    """Return a memory limit reduced by the needs of decompression.

    Raises:
        TokbenchError: see :func:`check_windows`.
    """
    if not isinstance(source, FileSource):
        return allowed
    return replace(allowed, room=allowed.room - check_windows([source], allowed.room, allowed.megabytes))
