"""Reading the documents of a source, again and again, in its own order."""

import io
import itertools
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from tokbench.allowance import Largest
from tokbench.corpus.cutting import Cutter
from tokbench.corpus.documents import Document, Rest
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.json_rows import LineReader
from tokbench.corpus.limits import Limits, is_limited
from tokbench.corpus.parallel.pairs import languages_in
from tokbench.corpus.parquet_rows import COPIES, REMEDY, Row, texts_of_rows
from tokbench.corpus.parts import WHOLE, Span
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
    tagged_files,
)
from tokbench.corpus.streams import GOES_ON, PART, Text, Texts, documents_in, documents_of
from tokbench.errors import TokbenchError
from tokbench.inputs.encodings import UTF_8, Notes, as_utf8, reject_mark
from tokbench.inputs.files import Convert, opened, read_lines, read_whole


def read_source(
    source: Source,
    cache: Path | None = None,
    largest: Largest | None = None,
    span: Span = WHOLE,
    longest: int | None = None,
    notes: Notes | None = None,
) -> Iterator[Document]:
    """Documents of a source, numbered from 0 in its order.

    A document is held here until it is handed on and no longer, or two long ones would be held at once; hence the
    functions that are mapped, where loops would keep what they last saw.

    Args:
        source: the source's options.
        cache: for a hub source the Parquet file that its own rule has fetched, for a parallel one the training split.
        largest: the longest text that is taken; any where left out.
        span: how much of its first and of its last file is read, where these are Parquet.
        longest: bytes above which a document comes in pieces, with a number each: a :class:`Document` and then its
            :class:`~tokbench.corpus.documents.Rest`. A row of Parquet and a line of JSON is in memory at once, with
            three bytes for each of its own. Where it is left out, none is cut.
        notes: count what is removed, left out or not UTF-8.

    Raises:
        TokbenchError: a file cannot be read, or a text is longer than ``largest``; the message names file and line.
    """
    before = ""

    def document(number: int, text: Text) -> Document:
        nonlocal before
        if text[0] is GOES_ON:
            return Rest(number, before, text[1])
        before = text[0]
        return Document(number, before, text[1])

    def tagged(text: Text) -> Text:
        return text if text[0] or text[0] is GOES_ON else (source.language, text[1])

    texts = _texts(source, cache, largest, span, longest, notes)
    return map(document, itertools.count(), within_limits(source, map(tagged, texts) if source.language else texts))


def holds_rows(source: Source) -> bool:
    """Return whether each text of a source is in memory at once before it is cut: rows of Parquet and of JSON Lines."""
    return isinstance(source, JsonLinesSource | ParquetSource | HubSource | ParallelSource)


def within_limits(source: Source, texts: Iterable[Text]) -> Texts:
    """The texts that a source's limits let through, renamed tags first; reading ends where no more can come."""
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
    largest: Largest | None,
    span: Span,
    longest: int | None,
    notes: Notes | None,
) -> Texts:
    """Tags, empty where there is none, and texts."""
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

            def rows(file: Path, part: Span) -> Texts:
                return _cut(texts_of_rows(file, *fields, largest, part, longest), source.documents, cutter, notes)

            return _of_files(source, rows, span)
        case CountsSource():
            raise TokbenchError("a corpus of counts has no documents; build from its counts")
        case HubSource() if cache is not None:
            return _cut(texts_of_rows(cache, "text", "language", largest, span, longest), "whole", cutter)
        case ParallelSource() if cache is not None:
            sides = (
                _tagged(language, _cut(texts_of_rows(cache, language, None, largest, WHOLE, longest), "whole", cutter))
                for language in languages_in(cache)
            )
            return chain.from_iterable(sides)
        case _:
            raise TokbenchError(f"a corpus of type '{source.type}' must be fetched before it is read")  # type: ignore[attr-defined]


def _tagged(tag: str, texts: Texts) -> Texts:
    """Texts whose own tags stand behind one of their file's or their side's."""

    def tagged(text: Text) -> Text:
        return (GOES_ON if text[0] is GOES_ON else tag or text[0]), text[1]

    return map(tagged, texts)


def _of_files(source: FileSource, read: Callable[[Path, Span], Texts], span: Span = WHOLE) -> Texts:
    """The texts of all files, one file open at a time; a file's own tag goes before those of its texts."""
    files = tagged_files(source)
    begins = chain([span.begin], repeat(Fraction(0)))
    ends = chain(repeat(Fraction(1), len(files) - 1), [span.end])
    return chain.from_iterable(
        _tagged(tag, read(file, part)) if tag else read(file, part)
        for (tag, file), part in zip(files, map(Span, begins, ends), strict=False)
    )


def _text_documents(
    path: Path, source: TextSource, largest: Largest | None, longest: int | None, notes: Notes | None
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
        yield from documents_in(text(file), documents, cutter, notes=notes)


def _json_lines(
    path: Path, source: JsonLinesSource, largest: Largest | None, longest: int | None, notes: Notes | None
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
    """JSON in UTF-8, whose reader skips a byte-order mark and names the line of what is not valid."""
    head = file.peek(len(BOM_UTF8))
    reject_mark(head, place)
    if notes is not None and head.startswith(BOM_UTF8):
        notes.marks += 1
    return file


def _pair(tag: str, text: bytes) -> Text:
    return tag, text


def _cut(rows: Iterator[Row], documents: str, cutter: Cutter | None, notes: Notes | None = None) -> Texts:
    """What is one document of each row, in pieces where it is long."""

    def units(row: Row) -> Texts:
        tag, text = row
        if cutter is not None and len(text) > cutter.longest:
            view = memoryview(text)
            return documents_of(
                (view[at : at + PART] for at in range(0, len(view), PART)), documents, cutter, tag, notes
            )
        whole = bytes(text)  # Bytes are not copied.
        if documents == "whole":
            return iter([(tag, whole)])
        return map(_pair, repeat(tag), _units(io.BytesIO(whole), documents, notes))

    return chain.from_iterable(map(units, rows))


def _units(lines: Iterable[bytes], documents: str, notes: Notes | None) -> Iterator[bytes]:
    """Lines that are not empty, or paragraphs with the blank line that ends them."""
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
