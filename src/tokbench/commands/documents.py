"""Documents from files that a command names, told apart by their names: JSON Lines, Parquet, else text."""

from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.allowance import Largest
from tokbench.commands.fields import LANGUAGE, TEXT
from tokbench.corpus.documents import Document
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import JsonLinesSource, ParquetSource, Source, TextSource
from tokbench.corpus.untagged import note_of_untagged
from tokbench.errors import TokbenchError


def documents_of(
    files: Sequence[str],
    text_field: str | None = None,
    language_field: str | None = None,
    largest: Largest | None = None,
) -> Iterator[Document]:
    """Documents of files, numbered from 0 as those of one text; each file may be gzip or zstd.

    Args:
        files: the files.
        text_field: key or column of the text.
        language_field: key or column of the language; a Parquet file must have it where it is named here.
        largest: the longest text that is taken; any where it is not given.

    Raises:
        TokbenchError: a document is longer than the longest, a field is named and no file has fields, or a file is a
            tokenizer's folder.
    """
    sources = [_source(file, text_field, language_field) for file in files]
    named = {"--text-field": text_field, "--language-field": language_field}
    for flag, field in named.items():
        if field is not None and all(isinstance(source, TextSource) for source in sources):
            raise TokbenchError(f"{flag} {field}: text has no fields; name a file of JSON Lines or Parquet")
    return _read(sources, largest)


def with_note(documents: Iterator[Document]) -> Iterator[Document]:
    """Return documents whose languages are read; after the last, print how many have none although others have one."""
    found = [0, 0]

    def see(document: Document) -> Document:
        found[bool(document.language)] += 1
        return document

    def end() -> Iterator[Document]:
        if all(found):
            click.echo(note_of_untagged(found[0]), err=True)
        yield from ()

    return chain(map(see, documents), end())


def _read(sources: Sequence[Source], largest: Largest | None) -> Iterator[Document]:
    """Numbers go on over files: by them documents are told apart. As in reading a source, none is held here."""

    def numbered(number: int, document: Document) -> Document:
        return document._replace(document=number)

    return map(numbered, count(), chain.from_iterable(read_source(source, largest=largest) for source in sources))


def _reject_tokenizer(file: str) -> None:
    """A folder of a tokenizer would be read as text, as whatever else lies in a folder."""
    from tokbench.adapters.forms.transformers import holds_tokenizer

    if holds_tokenizer(Path(file)):
        raise TokbenchError(f"{file}: a tokenizer's folder, and a text is read here; name a file or folder of text")


def _source(file: str, text_field: str | None, language_field: str | None) -> Source:
    _reject_tokenizer(file)
    name = file.removesuffix(".gz").removesuffix(".zst")
    fields: dict[str, Any] = {"path": [file], "text_field": text_field or TEXT}
    if name.endswith((".jsonl", ".ndjson")):
        return JsonLinesSource(type="jsonl", **fields, language_field=language_field or LANGUAGE)
    if name.endswith(".parquet"):
        told = language_field or (LANGUAGE if _has_languages(file) else None)
        return ParquetSource(type="parquet", **fields, language_field=told)
    return TextSource(type="text", path=[file])


def _has_languages(file: str) -> bool:
    try:
        return LANGUAGE in pq.read_schema(file).names
    except (OSError, pa.ArrowException, UnicodeEncodeError):
        return False  # Whoever reads it says what is wrong with it.
