"""Folders of imported tokenizers: written with a manifest, and described in lines."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tokbench.adapters.loss import Loss
from tokbench.adapters.read import import_tokenizer
from tokbench.corpus.text_files import read_files
from tokbench.errors import shortened
from tokbench.io.atomic import atomic_folder
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.io.provenance import write_manifest
from tokbench.tokenizer import Tokenizer


@dataclass(frozen=True)
class FileTexts:
    """Iterable over the texts of files, which are read again by each iteration.

    Attributes:
        files: the files.
        fields: options of reading. Default: those of the formats.
        limit: maximum number of texts. Default: None, all.
    """

    files: Sequence[str]
    fields: Fields = AS_USUAL
    limit: int | None = None

    def __iter__(self) -> Iterator[bytes]:
        documents = read_files(self.files, self.fields)
        yield from (document.text for document in islice(documents, self.limit))


def write_import(
    path: str,
    form: str | None,
    options: Mapping[str, Any],
    output: str,
    *,
    name: str,
    texts: FileTexts | None = None,
) -> list[str]:
    """Import an external tokenizer, and write it to a folder like any other.

    Args:
        path: as for :func:`tokbench.adapters.read.import_tokenizer`.
        form: likewise.
        options: likewise.
        output: the folder.
        name: name in tables.
        texts: documents to compare ids and measure losses on. Default: None, no losses are measured.

    Returns:
        Lines about the tokenizer: how it works and why, its ids and its end of text, notes about the file, its losses.

    Raises:
        TokbenchError: as :func:`tokbench.adapters.read.import_tokenizer`.
    """
    started = time.monotonic()
    tokenizer, losses = import_tokenizer(path, form, options, name=name, texts=texts)
    with atomic_folder(output, "tokenizer") as folder:
        tokenizer.save(folder)
        write_manifest(folder / "manifest.json", tokenizer.origin, started)
    return _lines(tokenizer, losses)


def _lines(tokenizer: Tokenizer, losses: Loss | None) -> list[str]:
    imported = tokenizer.origin["imported"]
    native = imported["how"] == "native"
    how = f"native: {tokenizer.segmentation}" if native else f"by {imported['how']}"
    lines = [
        f"{how}; {imported['why']}",
        f"{len(tokenizer):,} tokens that a text can give, ids below {tokenizer.id_limit:,}",
        _end_line(tokenizer, imported["end_of_text"]),
        *imported["told"],
    ]
    if losses is not None:
        lines.append(str(losses))
    elif not native:
        lines.append("its losses are not measured; name documents with --check")
    return lines


def _end_line(tokenizer: Tokenizer, end: Mapping[str, Any] | None) -> str:
    """Return the line about the end-of-text token."""
    if end is None:
        return (
            f"end of text: id {tokenizer.end_of_text}, after all others, as the file names none; --end-of-text names it"
        )
    return f"end of text: '{shortened(end['token'])}', id {end['id']}, by {end['source']}"
