"""Readers of all types of sources. A source may be read any number of times, in the same order.

Also checks of the first document of each language before any other work, and of the memory for decompression: some
compressed files need many megabytes of earlier text.
"""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Literal

from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.formats import format_of
from tokbench.corpus.formats.parquet import read_parquet
from tokbench.corpus.limits import within_limits
from tokbench.corpus.long_documents import GOES_ON, PART, Cutter, Text, Texts
from tokbench.corpus.nfc import Normalizer
from tokbench.corpus.reading import WHOLE_FILE, Reading, ReadSpan, RecordRule, Row, RowFields
from tokbench.corpus.shards import LONG
from tokbench.corpus.source_files import check_content, tagged_files
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    FileSource,
    HubSource,
    ParallelSource,
    Records,
    RecordSource,
    Source,
    type_of,
)
from tokbench.corpus.splitting import split_rows
from tokbench.errors import TokbenchError
from tokbench.io.encodings import Notes

COPIES = 3
"""Copies in memory of each row that is cut: page, dictionary and column of Arrow, or line of JSON, its text and its
parts."""


def read_source(
    source: Source,
    cache: Path | None = None,
    span: ReadSpan = WHOLE_FILE,
    longest: int | None = None,
    notes: Notes | None = None,
    normalize: Literal["nfc"] | None = None,
) -> Iterator[Document]:
    """Read the documents of a source, numbered from 0 in its order.

    Uses ``map`` instead of ``for`` loops so that no reference to the previous document keeps it in memory.

    Args:
        source: options of the source.
        cache: for a hub source the downloaded Parquet file, for a parallel source the training split.
        span: range of the files to read; only files of divisible formats can be read partially.
        longest: bytes above which a document is yielded in pieces (default: never): a :class:`Document`, then
            :class:`~tokbench.corpus.documents.ContinuationPiece`, each with its own number. A record is in
            memory at once, with three bytes per byte.
        notes: counts of text that is removed, left out, changed or not UTF-8.
        normalize: normalization of each document, or of each piece of a long one (default: none). Limits count the
            normalised bytes.

    Raises:
        TokbenchError: a file cannot be read; the message names file and line.
    """
    before = ""

    def document(number: int, text: Text) -> Document:
        nonlocal before
        if text[0] is GOES_ON:
            return ContinuationPiece(number, before, text[1])
        before = text[0]
        return Document(number, before, text[1])

    def with_tag(text: Text) -> Text:
        return text if text[0] or text[0] is GOES_ON else (source.language, text[1])

    rule = RecordRule(isinstance(source, Records) and source.bad_lines == "skip", notes)
    texts = _texts(source, cache, Reading(span, longest, notes, rule))
    texts = map(with_tag, texts) if source.language else texts
    if normalize is None:
        return map(document, itertools.count(), within_limits(source, texts))
    normalizer = Normalizer(notes)
    limited = within_limits(source, map(normalizer.normalize, texts))
    return map(document, itertools.count(), map(normalizer.count, limited))


def holds_rows(source: Source) -> bool:
    """Return whether texts are completely in memory before they are cut, as those of records are."""
    return isinstance(source, RecordSource | HubSource | ParallelSource)


def _texts(source: Source, cache: Path | None, reading: Reading) -> Texts:
    """Yield tags (empty if missing) and texts."""
    match source:
        case EmbeddedSource():
            cutter = _cutter(reading)
            return split_rows((("en", text) for text in embedded_texts()), "whole", cutter)
        case CountsSource():
            raise TokbenchError("a corpus of counts has no documents; build from its counts")
        case FileSource():
            return _of_files(source, reading)
        case HubSource() if cache is not None:
            return _of_cache(cache, RowFields(("text",), "language"), reading)
        case ParallelSource() if cache is not None:
            from tokbench.corpus.parallel_read import languages_in

            complete = reading._replace(span=WHOLE_FILE)
            sides = (
                _tag_texts(language, _of_cache(cache, RowFields((language,)), complete))
                for language in languages_in(cache)
            )
            return chain.from_iterable(sides)
        case _:
            raise TokbenchError(f"a corpus of type '{type_of(source)}' must be fetched before it is read")


def _tag_texts(tag: str, texts: Texts) -> Texts:
    """Add the tag of a file or side to its texts, in place of their own tags."""

    def with_tag(text: Text) -> Text:
        return (GOES_ON if text[0] is GOES_ON else tag or text[0]), text[1]

    return map(with_tag, texts)


def _of_files(source: FileSource, reading: Reading) -> Texts:
    """Yield the texts of all files, with one file open at a time; the tag of a file takes precedence over those of its
    texts."""
    files = tagged_files(source)
    begins = chain([reading.span.begin], repeat(Fraction(0)))
    ends = chain(repeat(Fraction(1), len(files) - 1), [reading.span.end])

    def texts(file: Path, span: ReadSpan) -> Texts:
        check_content(file, source)
        return _of_file(file, source, reading._replace(span=span))

    return chain.from_iterable(
        _tag_texts(tag, texts(file, span)) if tag else texts(file, span)
        for (tag, file), span in zip(files, map(ReadSpan, begins, ends), strict=False)
    )


def _of_file(path: Path, source: FileSource, reading: Reading) -> Texts:
    """Yield the texts of a file as its format reads them, or the texts of its records."""
    read: Callable[..., Any] = format_of(source).function
    if not isinstance(source, RecordSource):
        return read(path, source, reading)
    fields = RowFields((source.text_field,), source.language_field)
    return _of_rows(read(path, fields, source, reading), fields, source.documents, reading)


def _of_cache(path: Path, fields: RowFields, reading: Reading) -> Texts:
    """Yield the texts of a Parquet file that an earlier stage wrote."""
    return _of_rows(read_parquet(path, fields, None, reading), fields, "whole", reading)


def _of_rows(rows: Iterator[Row], fields: RowFields, documents: str, reading: Reading) -> Texts:
    """Yield the documents of records, in pieces if they are long."""
    texts = filter(None, map(reading.rule.document_of(fields.texts[0]), rows))
    return split_rows(texts, documents, _cutter(reading), reading.notes)


def _cutter(reading: Reading) -> Cutter | None:
    return None if reading.longest is None else Cutter(reading.longest)


def mistakes_of_fields(source: FileSource) -> list[str]:
    """Return error messages for the beginning of the first file under each language tag.

    Raises:
        TokbenchError: an entry matches no file.
    """
    first = dict(reversed(tagged_files(source)))
    if isinstance(source, CountsSource):
        return []
    mistakes = []
    longest = LONG if isinstance(source, RecordSource) else PART
    for file in first.values():
        single = source.model_copy(update={"path": [str(file)], "max_documents": 1, "languages": None})
        notes = Notes()
        try:
            if not list(islice(read_source(single, longest=longest, notes=notes), 1)) and (bad := notes.bad_records):
                mistakes.append(f"{file}: no record is good ({bad:,} bad ones); name the fields that it has")
        except TokbenchError as error:
            mistakes.append(str(error))
    return mistakes
