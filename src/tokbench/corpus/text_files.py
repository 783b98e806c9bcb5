"""Documents of files given on the command line: JSON Lines and Parquet by their endings, otherwise text."""

from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from tokbench.corpus.documents import Document, found_untagged, is_shard, read_documents, read_shard
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import (
    FileSource,
    JsonLinesSource,
    ParquetSource,
    Records,
    TextSource,
    check_content,
    files_of,
    left_out,
)
from tokbench.errors import TokbenchError
from tokbench.io.compression import AS_USUAL, Fields, has_kind, kind_named
from tokbench.io.contents import content_of
from tokbench.io.encodings import BYTES, UTF_8, Notes
from tokbench.io.parquet import column_names
from tokbench.runtime.progress import note, watched

TEXT, LANGUAGE = "text", "language"
"""Default keys or columns of text and language."""


def read_files(files: Sequence[str], fields: Fields = AS_USUAL) -> Iterator[Document]:
    """Read documents of files, numbered consecutively from 0; files may be compressed.

    After the documents are read, notes name files of a folder and bad lines that were left out, byte-order marks that
    were removed, and bytes that are not UTF-8.

    Args:
        files: the files. Shards of a corpus are read as such if no field is named.
        fields: options of reading. If a language field is named, a Parquet file must have this column.

    Raises:
        TokbenchError: an option applies to none of the files, or a file or folder is no text, such as a tokenizer.
    """
    sources = [_source(file, fields) for file in files]
    named = {"--text-field": fields.text, "--language-field": fields.language}
    for flag, field in named.items():
        if field is not None and all(isinstance(source, TextSource) for source in sources):
            raise TokbenchError(f"{flag} {field}: text has no fields; name a file of JSON Lines or Parquet")
    if fields.encoding is not None and all(isinstance(source, ParquetSource) for source in sources):
        raise TokbenchError(f"--encoding {fields.encoding}: Parquet has its own encoding; leave the option out")
    if fields.bad_lines is not None and not any(isinstance(source, Records) for source in sources):
        raise TokbenchError("--bad-lines: no file is JSON Lines or Parquet; leave the option out")
    for source in sources:  # Raise before anything is written into a folder that is read.
        for file in files_of(source):
            check_content(file, source)
    return watched(_read(sources, fields, list(chain.from_iterable(map(left_out, sources)))))


def read_shards_or_files(files: Sequence[str], fields: Fields) -> Iterator[Document]:
    """Read the documents of corpus shards with their numbers, or those of other files as :func:`read_files` does."""
    if not fields.flags and all(map(is_shard, files)):
        return watched(read_documents(files))
    return read_files(files, fields)


def note_untagged(documents: Iterator[Document]) -> Iterator[Document]:
    """Pass documents through; after the last, note how many have no language although others have one."""
    numbers = [0, 0]

    def see(document: Document) -> Document:
        numbers[bool(document.language)] += 1
        return document

    def end() -> Iterator[Document]:
        if all(numbers):
            for line in found_untagged(numbers[0]).values():
                note(line)
        yield from ()

    return chain(map(see, documents), end())


def _read(sources: Sequence[FileSource], fields: Fields, unread: Sequence[str]) -> Iterator[Document]:
    """Number the documents of all files; functions are mapped, as a loop would keep its last document."""
    notes = Notes()

    def documents(source: FileSource) -> Iterator[Document]:
        if isinstance(source, ParquetSource) and fields.text is fields.language is None:
            file = source.path[0] if isinstance(source.path, list) else ""
            if is_shard(file):
                return read_shard(file)
        return read_source(source, notes=notes)

    def numbered(number: int, document: Document) -> Document:
        return document._replace(document=number)

    def end() -> None:
        for line in chain(unread, notes.lines().values()):
            note(line)

    try:
        yield from map(numbered, count(), chain.from_iterable(map(documents, sources)))
    except GeneratorExit:
        end()
        raise
    end()


def _kind_of(file: str) -> str:
    """Return the kind of a file by its ending; files without a known one, such as ``.jl``, may be JSON Lines."""
    if Path(file).is_dir():
        return "text"
    named = kind_named(file)
    return "jsonl" if named == "text" and not has_kind(file, "text") and content_of(file).kind == "jsonl" else named


def _source(file: str, fields: Fields) -> FileSource:
    kind = _kind_of(file)
    encoding = fields.encoding or UTF_8
    options: dict[str, Any] = {"path": [file], "text_field": fields.text or TEXT}
    if kind == "jsonl":
        if encoding == BYTES:
            raise TokbenchError(f"--encoding bytes: {file} is JSON Lines, which is text; name its encoding")
        options |= {"language_field": fields.language or LANGUAGE, "bad_lines": fields.bad_lines or "reject"}
        return JsonLinesSource(type="jsonl", **options, encoding=encoding)
    if kind == "parquet":
        language = fields.language or (LANGUAGE if LANGUAGE in column_names(file) else None)
        options["bad_lines"] = fields.bad_lines or "reject"
        return ParquetSource(type="parquet", **options, language_field=language)
    if (
        encoding == UTF_8
    ):  # With defaults only there is nothing to validate, which takes longer than reading a short text.
        return TextSource.model_construct(type="text", path=[file])
    return TextSource(type="text", path=[file], encoding=encoding)
