"""Perturbed lines of documents, in a table from which the originals can be restored."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

import polars as pl

from tokbench.corpus.documents import Document
from tokbench.corpus.long_documents import cut_of
from tokbench.errors import TokbenchError, unknown
from tokbench.robustness.perturbations import BYTES, KINDS, RATE, Edit, edits, perturb, restore

LINES: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String,
    "document": pl.Int64,
    "language": pl.String,
    "line": pl.Int64,
    "text": pl.String,
    "starts": pl.List(pl.Int64),
    "before": pl.List(pl.String),
    "after": pl.List(pl.String),
}
"""Columns of a table of perturbed lines: the perturbed ``text`` of a line of a document (both numbered from 0), and its
edits (positions in the original line in characters, original and new characters)."""


def perturbed_lines(
    documents: Iterable[Document],
    *,
    kinds: Sequence[str] = tuple(KINDS),
    rate: float = RATE,
    size: int = BYTES,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the lines of documents after perturbations of several kinds, one row per line and kind with an edit.

    The edits of a line depend on the seed, the kind and the line's place only, so that every tokenizer is measured on
    the same text, and a further document changes no other line.

    Args:
        documents: the texts. Lines that are not UTF-8 are left out.
        kinds: names in :data:`tokbench.robustness.perturbations.KINDS`. Default: all.
        rate: probability that a unit (a word, a space or a number) is drawn. Default: 0.1.
        size: use at most this number of bytes. They are taken from the beginnings of documents, in equal shares; the
            last line of a share is cut, between two words where there are some. Default: 200,000.
        seed: seed of the draws. Default: 0.

    Raises:
        TokbenchError: a kind is unknown, or there are no documents with text.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise TokbenchError(unknown(kind, "kind of perturbation", KINDS))
    rows = []
    for document, number, line in _beginnings(documents, size):
        for kind in kinds:
            draw = Random(f"{seed}/{kind}/{document.document}/{number}")
            changes = list(edits(line, kind, rate, draw))
            if changes:
                starts, before, after = map(list, zip(*changes, strict=True))
                head = {"kind": kind, "document": document.document, "language": document.language, "line": number}
                changed = perturb(line, changes)
                rows.append(head | {"text": changed, "starts": starts, "before": before, "after": after})
    return pl.DataFrame(rows, schema=LINES)


def _beginnings(documents: Iterable[Document], size: int) -> Iterator[tuple[Document, int, str]]:
    """Yield the first lines of each document with their numbers, up to an equal share of ``size`` bytes each.

    No more than ``size`` bytes of a document stay in memory.
    """
    beginnings = [(len(document.text), document._replace(text=document.text[: size + 1])) for document in documents]
    if not any(document.text.strip() for _, document in beginnings):
        raise TokbenchError("robustness: no text; give documents")
    left = size
    shortest_first = sorted(range(len(beginnings)), key=lambda number: beginnings[number][0])
    shares = {}
    for place, number in enumerate(shortest_first):
        shares[number] = min(beginnings[number][0], -(-left // (len(beginnings) - place)))
        left -= shares[number]
    for number, (_, document) in enumerate(beginnings):
        left = shares[number]
        for place, line in enumerate(document.text[: left + 1].split(b"\n")):
            if left <= 0:
                break
            cut = line if len(line) <= left else line[: cut_of(line, left)]
            left -= len(line) + 1
            try:
                yield document, place, cut.decode()
            except UnicodeDecodeError:
                continue


def originals(lines: pl.DataFrame) -> list[str]:
    """Return the original lines of a table of perturbed lines."""
    columns = (lines[name].to_list() for name in ("text", "starts", "before", "after"))
    return [
        restore(text, [Edit(*change) for change in zip(starts, before, after, strict=True)])
        for text, starts, before, after in zip(*columns, strict=True)
    ]
