"""Documents of files given on the command line; endings and first bytes decide the format."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from tokbench.corpus.documents import Document, is_shard, read_documents, read_shard, untagged_findings
from tokbench.corpus.formats import CorpusFormat, corpus_formats, format_of_file, format_of_folder
from tokbench.corpus.read import read_source
from tokbench.corpus.source_files import check_content, files_of, left_out
from tokbench.corpus.sources import FileSource, RecordSource, type_of
from tokbench.errors import TokbenchError
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.io.encodings import UTF_8, Notes
from tokbench.options import validated
from tokbench.runtime.progress import note, watch

TEXT, LANGUAGE = "text", "language"
"""Default keys or columns of text and language."""


def read_files(files: Sequence[str], fields: Fields = AS_USUAL) -> Iterator[Document]:
    """Read documents of files, numbered consecutively from 0; files may be compressed.

    After the documents are read, notes name files of a folder and bad records that were left out, byte-order marks that
    were removed, and bytes that are not UTF-8.

    Args:
        files: the files. Shards of a corpus are read as such if no field is named.
        fields: options of reading. If a language field is named, files with columns must have it.

    Raises:
        TokbenchError: an option applies to none of the files, or a file or folder is no text, such as a tokenizer.
    """
    sources = [_source(file, fields) for file in files]
    labels = [method.label for method in corpus_formats.methods() if method.rows]
    with_fields = f"{', '.join(labels[:-1])} or {labels[-1]}"
    has_records = any(isinstance(source, RecordSource) for source in sources)
    fields_by_flag = {"--text-field": fields.text, "--language-field": fields.language}
    for flag, field in fields_by_flag.items():
        if field is not None and not has_records:
            raise TokbenchError(f"{flag} {field}: text has no fields; name a file of {with_fields}")
    if fields.encoding is not None and not any("encoding" in type(source).model_fields for source in sources):
        label = corpus_formats[type_of(sources[0])].label
        raise TokbenchError(f"--encoding {fields.encoding}: {label} has its own encoding; leave the option out")
    if fields.bad_lines is not None and not has_records:
        raise TokbenchError(f"--bad-lines: no file is {with_fields}; leave the option out")
    for source in sources:  # Raise before anything is written into a folder that is read.
        for file in files_of(source):
            check_content(file, source)
    return watch(_read(sources, fields, list(chain.from_iterable(map(left_out, sources)))))


def read_shards_or_files(files: Sequence[str], fields: Fields) -> Iterator[Document]:
    """Read the documents of corpus shards with their numbers, or those of other files as :func:`read_files` does."""
    if not fields.flags and all(map(is_shard, files)):
        return watch(read_documents(files))
    return read_files(files, fields)


def note_untagged(documents: Iterator[Document]) -> Iterator[Document]:
    """Pass documents through; after the last, note how many have no language although others have one."""
    numbers = [0, 0]

    def see(document: Document) -> Document:
        numbers[bool(document.language)] += 1
        return document

    def end() -> Iterator[Document]:
        if all(numbers):
            for line in untagged_findings(numbers[0]).values():
                note(line)
        yield from ()

    return chain(map(see, documents), end())


def _read(sources: Sequence[FileSource], fields: Fields, unread: Sequence[str]) -> Iterator[Document]:
    """Number the documents of all files; functions are mapped, as a loop would keep its last document."""
    notes = Notes()

    def documents(source: FileSource) -> Iterator[Document]:
        file = source.path[0] if isinstance(source.path, list) else ""
        if type_of(source) == "parquet" and fields.text is fields.language is None and is_shard(file):
            return read_shard(file)
        return read_source(source, notes=notes)

    def with_number(number: int, document: Document) -> Document:
        return document._replace(document=number)

    def end() -> None:
        for line in chain(unread, notes.lines().values()):
            note(line)

    try:
        yield from map(with_number, count(), chain.from_iterable(map(documents, sources)))
    except GeneratorExit:
        end()
        raise
    end()


def files_in(folder: str) -> list[Path]:
    """List the files of a folder that :func:`read_files` reads.

    Raises:
        TokbenchError: see :func:`read_files`.
    """
    return files_of(_source(folder, AS_USUAL))


def _source(file: str, fields: Fields) -> FileSource:
    path = Path(file)
    method = format_of_folder(path) if path.is_dir() else format_of_file(path)
    if fields == AS_USUAL and not method.rows:
        # With defaults only there is nothing to validate, which takes longer than reading a short text.
        construct: Callable[..., FileSource] = method.options_class.model_construct
        return construct(type=method.name, path=[file])
    options: dict[str, Any] = {"type": method.name, "path": [file]}
    if "encoding" in method.options.model_fields:
        options["encoding"] = fields.encoding or UTF_8
    if method.rows:
        options |= {"text_field": fields.text or TEXT, "bad_lines": fields.bad_lines or "reject"}
        options["language_field"] = fields.language or _language_field(path, method)
    return validated(options, method.options_class, file)


def _language_field(path: Path, method: CorpusFormat) -> str | None:
    """Return the default field of the language, or None if the records of a file or folder cannot have it."""
    if method.fields_in is None:
        return LANGUAGE
    file = path
    if path.is_dir():
        file = next(iter(files_of(method.source(path=[str(path)]))), path)
    return LANGUAGE if LANGUAGE in method.fields_in(file) else None
