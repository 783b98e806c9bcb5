"""``tokbench import``: take a tokenizer that was made elsewhere."""  # noqa: N999

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import TEXT
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.commands.reading import ADDED, SPECIAL, special_tokens
from tokbench.errors import TokbenchError, on_one_line, shortened
from tokbench.inputs.endings import Fields

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer


@click.command("import")
@click.argument("path")
@click.option(
    "--from",
    "form",
    required=True,
    metavar="FORM",
    help="Form of the file; docs/existing.md of Tokbench's repository describes them.",
)
@click.option("--pattern", help="How texts are cut, where the file does not say it: a name or a regular expression.")
@click.option("--segmentation", help="Segmentation in place of the form's own; 'tokens' has none, so name one there.")
@click.option(
    "--added",
    type=click.Choice(ADDED),
    default="words",
    show_default=True,
    help="Which added tokens of the file are cut out of texts: words and blanks, none (text), or all (tokens).",
)
@click.option("--special", multiple=True, metavar="NAME=ID", help=SPECIAL)
@click.option(
    "--end-of-text", metavar="TOKEN", help="Special or added token that ends a text; the files' own if left out."
)
@click.option("--revision", help="Fetch PATH, a name on the Hugging Face hub, at this revision (a full hash).")
@click.option(
    "--check",
    "files",
    multiple=True,
    type=TEXT,
    help="Documents to compare ids and measure losses on; may be repeated.",
)
@click.option("--limit", default=1000, show_default=True, type=Whole(0), help="Documents checked at most; 0 for all.")
@field_options
@click.option("--name", default="", help="What tables call the tokenizer; the folder's name if left out.")
@click.option("-o", "--output", required=True, type=OutputFolder("tokenizer"), help="Folder of the tokenizer.")
def command(
    path: str,
    form: str,
    pattern: str | None,
    segmentation: str | None,
    added: str,
    special: tuple[str, ...],
    end_of_text: str | None,
    revision: str | None,
    files: tuple[str, ...],
    limit: int,
    fields: Fields,
    name: str,
    output: str,
) -> None:
    """Take the tokenizer at PATH, a file or a folder of the form FORM, and write it to a folder like any other.

    It becomes one of our own where its ids stay exactly the same, and works through its own library elsewhere; what is
    said tells which, why, and what is lost of texts. Its ids are those of its library.
    """
    from tokbench.adapters.forms import FORMS, ReadOptions
    from tokbench.adapters.read import import_tokenizer
    from tokbench.atomic import atomic_folder
    from tokbench.errors import unknown
    from tokbench.manifest import write_manifest
    from tokbench.options import validated

    started = time.monotonic()
    memory.purpose(f"import {path}")
    if form not in FORMS:
        raise TokbenchError(f"--from: {unknown(form, 'form', FORMS)}")
    given: dict[str, Any] = {"pattern": pattern, "segmentation": segmentation, "added": added, "revision": revision}
    given |= {"special_tokens": special_tokens(special), "end_of_text": end_of_text}
    options = validated({key: value for key, value in given.items() if value is not None}, ReadOptions, "import")
    if not files and fields.flags:
        raise TokbenchError(f"{fields.flags}: for files of --check only; name some")
    documents = _Texts(files, fields, limit or None)
    imported_name = on_one_line(name or Path(output).name)
    tokenizer, losses = import_tokenizer(path, form, options, name=imported_name, texts=documents if files else None)
    imported = tokenizer.origin["imported"]
    with atomic_folder(output, "tokenizer") as folder:
        tokenizer.save(folder)
        write_manifest(folder / "manifest.json", tokenizer.origin, started)
    native = imported["how"] == "native"
    how = f"native: {tokenizer.segmentation}" if native else f"by {imported['how']}"
    click.echo(f"{how}; {imported['why']}", err=True)
    click.echo(f"{len(tokenizer):,} tokens that a text can give, ids below {tokenizer.id_limit:,}", err=True)
    click.echo(_end_line(tokenizer, imported["end_of_text"]), err=True)
    for line in imported["told"]:
        click.echo(line, err=True)
    if losses is not None:
        click.echo(str(losses), err=True)
    elif not native:
        click.echo("what it loses is not measured; name documents with --check", err=True)


def _end_line(tokenizer: "Tokenizer", end: dict[str, Any] | None) -> str:
    """Return the sentence on the end of text."""
    if end is None:
        return f"end of text: id {tokenizer.end_of_text}, after all others, as the file names none"
    return f"end of text: '{shortened(end['token'])}', id {end['id']}, by {end['source']}"


@dataclass(frozen=True)
class _Texts:
    """The texts of files, read anew each time that they are gone through."""

    files: tuple[str, ...]
    fields: Fields
    limit: int | None

    def __iter__(self) -> Iterator[bytes]:
        from tokbench.commands.documents import documents_of

        if self.files:
            found = documents_of(self.files, self.fields)
            yield from (document.text for document in islice(found, self.limit))
