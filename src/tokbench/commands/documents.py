"""Documents of files that a command names; lines about them are written once a command."""

from collections.abc import Iterator, Sequence

import click

from tokbench.corpus.documents import Document
from tokbench.corpus.text_files import note_untagged, read_files
from tokbench.inputs.endings import AS_USUAL, Fields

SAID = "tokbench.commands.documents.said"
"""Key of a command's context: lines that are written already, as some commands read files several times."""


def documents_of(files: Sequence[str], fields: Fields = AS_USUAL) -> Iterator[Document]:
    """Read documents as :func:`tokbench.corpus.text_files.read_files` does."""
    return read_files(files, fields, _say)


def with_note(documents: Iterator[Document]) -> Iterator[Document]:
    """Return documents as :func:`tokbench.corpus.text_files.note_untagged` does."""
    return note_untagged(documents, _say)


def _say(line: str) -> None:
    """Write a line to standard error, once a command."""
    context = click.get_current_context(silent=True)
    said = set() if context is None else context.meta.setdefault(SAID, set())
    if line not in said:
        said.add(line)
        click.echo(line, err=True)
