"""MorphoLex (Sánchez-Gutiérrez, Mailhot, Deacon and Wilson 2018): the derivational morphology of 70,000 English words.

``MorphoLEX_en.xlsx`` (or its sheets as CSV): among other columns ``Word`` and ``MorphoLexSegm``, in which ``(x)`` is a
root, ``<x<`` a prefix and ``>x>`` a suffix: ``{<un<(break)>able>}``. Roots have their dictionary form, and inflection
is not marked, so that many words are not spelt by their parts.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tokbench.intrinsic.resources import ResourceOptions, resource
from tokbench.intrinsic.resources.gold import Segmentation
from tokbench.intrinsic.resources.rows import records
from tokbench.intrinsic.resources.spreadsheet import sheets
from tokbench.registry import TokbenchError

MORPHEME = re.compile(r"<([^<>(){}]+)<|\(([^<>(){}]+)\)|>([^<>(){}]+)>")
COLUMNS = ("Word", "MorphoLexSegm")


@resource("morpholex", gold="segmentations", files="*.xlsx")
def morpholex(path: Path, language: str, options: ResourceOptions) -> Iterator[Segmentation]:
    """Words with prefixes, roots and suffixes."""
    for word, notation in _rows(path):
        if word and notation:
            segments = [next(filter(None, found)) for found in MORPHEME.findall(notation)]
            yield Segmentation(language or "en", word, segments)


def _rows(path: Path) -> Iterator[tuple[str, ...]]:
    """Word and notation, of every sheet that has both."""
    if path.suffix != ".xlsx":
        yield from (tuple(row) for _, row in records(path, COLUMNS, ","))
        return
    described = 0
    for rows in sheets(path):
        head = next(rows, {})
        places = {name: column for column, name in head.items()}
        if all(column in places for column in COLUMNS):
            described += 1
            yield from (tuple(row.get(places[column], "").strip() for column in COLUMNS) for row in rows)
    if not described:
        raise TokbenchError(f"{path}: no sheet has the columns {' and '.join(COLUMNS)}; name MorphoLEX_en.xlsx")
