"""Documents of files that a command names: JSON Lines and Parquet by their endings, else text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import click

from tokbench.commands.fields import AS_USUAL, LANGUAGE, TEXT, Fields
from tokbench.corpus.documents import Document
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import FileSource, JsonLinesSource, ParquetSource, TextSource, left_out
from tokbench.corpus.untagged import found_untagged
from tokbench.errors import TokbenchError
from tokbench.inputs.encodings import BYTES, UTF_8, Notes
from tokbench.inputs.endings import kind_named
from tokbench.inputs.parquet import column_names

SAID = "tokbench.commands.documents.said"
"""Key of a command's context: lines that it has written already, as some commands read files several times."""


def documents_of(files: Sequence[str], fields: Fields = AS_USUAL) -> Iterator[Document]:
    """Documents of files, numbered from 0 as those of one text; each file may be compressed.

    Once they are read, lines on standard error say which files of a folder and how many bad lines were left out, how
    many byte-order marks were removed, and how many bytes are not UTF-8.

    Args:
        files: the files.
        fields: how texts are read; a Parquet file must have the column of the language that is named here.

    Raises:
        TokbenchError: an option is given and no file has what it is about, or a file is a tokenizer's folder.
    """
    sources = [_source(file, fields) for file in files]
    named = {"--text-field": fields.text, "--language-field": fields.language}
    for flag, field in named.items():
        if field is not None and all(isinstance(source, TextSource) for source in sources):
            raise TokbenchError(f"{flag} {field}: text has no fields; name a file of JSON Lines or Parquet")
    if fields.encoding is not None and all(isinstance(source, ParquetSource) for source in sources):
        raise TokbenchError(f"--encoding {fields.encoding}: Parquet has its own encoding; leave the option out")
    if fields.bad_lines is not None and not any(isinstance(source, JsonLinesSource) for source in sources):
        raise TokbenchError("--bad-lines: no file is JSON Lines; leave the option out")
    return _read(sources)


def with_note(documents: Iterator[Document]) -> Iterator[Document]:
    """Return documents whose languages are read; after the last, say how many have none although others have one."""
    found = [0, 0]

    def see(document: Document) -> Document:
        found[bool(document.language)] += 1
        return document

    def end() -> Iterator[Document]:
        if all(found):
            _say(found_untagged(found[0]).values())
        yield from ()

    return chain(map(see, documents), end())


def _read(sources: Sequence[FileSource]) -> Iterator[Document]:
    """Numbers go on over files: by them documents are told apart. As in reading a source, none is held here."""
    notes = Notes()

    def numbered(number: int, document: Document) -> Document:
        return document._replace(document=number)

    read = (read_source(source, notes=notes) for source in sources)
    try:
        yield from map(numbered, count(), chain.from_iterable(read))
    except GeneratorExit:
        _say(_findings(sources, notes))
        raise
    _say(_findings(sources, notes))


def _findings(sources: Sequence[FileSource], notes: Notes) -> Iterator[str]:
    """Return lines on what was left out or changed."""
    return chain(chain.from_iterable(map(left_out, sources)), notes.lines().values())


def _say(lines: Iterable[str]) -> None:
    """Write lines to standard error, each once a command."""
    context = click.get_current_context(silent=True)
    said = set() if context is None else context.meta.setdefault(SAID, set())
    for line in lines:
        if line not in said:
            said.add(line)
            click.echo(line, err=True)


def _reject_tokenizer(file: str) -> None:
    """A folder of a tokenizer would be read as text, as whatever else lies in a folder."""
    from tokbench.adapters.forms.transformers import holds_tokenizer

    if holds_tokenizer(Path(file)):
        raise TokbenchError(f"{file}: a tokenizer's folder, and a text is read here; name a file or folder of text")


def _source(file: str, fields: Fields) -> FileSource:
    _reject_tokenizer(file)
    kind = "text" if Path(file).is_dir() else kind_named(file)
    encoding = fields.encoding or UTF_8
    options: dict[str, Any] = {"path": [file], "text_field": fields.text or TEXT}
    if kind == "jsonl":
        if encoding == BYTES:
            raise TokbenchError(f"--encoding bytes: {file} is JSON Lines, which is text; name its encoding")
        options |= {"language_field": fields.language or LANGUAGE, "bad_lines": fields.bad_lines or "reject"}
        return JsonLinesSource(type="jsonl", **options, encoding=encoding)
    if kind == "parquet":
        language = fields.language or (LANGUAGE if LANGUAGE in column_names(file) else None)
        return ParquetSource(type="parquet", **options, language_field=language)
    return TextSource(type="text", path=[file], encoding=encoding)
