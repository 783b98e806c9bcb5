"""MorphoLex (Sánchez-Gutiérrez, Mailhot, Deacon and Wilson 2018): the derivational morphology of 70,000 English words.

``MorphoLEX_en.xlsx`` (or its sheets as CSV): among other columns ``Word`` and ``MorphoLexSegm``, in which ``(x)`` is a
root, ``<x<`` a prefix and ``>x>`` a suffix: ``{<un<(break)>able>}``. Roots have their dictionary form, and inflection
is not marked, so that many words are not spelt by their parts.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from tokbench.errors import TokbenchError
from tokbench.inputs.files import MOST, first_line
from tokbench.inputs.paths import literal
from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import records
from tokbench.resource import ResourceOptions, resource

MORPHEME = re.compile(r"<([^<>(){}]+)<|\(([^<>(){}]+)\)|>([^<>(){}]+)>")
COLUMNS = ("Word", "MorphoLexSegm")


@resource("morpholex", gold="segmentations", files="*.xlsx", cites=("sanchez2018",))
def morpholex(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with prefixes, roots and suffixes."""
    for word, notation in _rows(path):
        if word and notation:
            segments = [next(filter(None, found)) for found in MORPHEME.findall(notation)]
            yield SegmentedWord(language or "en", word, segments)


def _rows(path: Path) -> Iterator[tuple[str, ...]]:
    """Word and notation, of every sheet that has both."""
    if path.suffix.lower() != ".xlsx":
        yield from (tuple(row) for _, row in records(path, COLUMNS, ","))
        return
    import polars as pl
    from fastexcel import FastExcelError

    try:
        with ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > MOST:
                raise BadZipFile(f"more than {MOST:,} bytes once decompressed")
        book = pl.read_excel(literal(path), sheet_id=0, infer_schema_length=0, raise_if_empty=False)
    except (OSError, ValueError, BadZipFile, FastExcelError, pl.exceptions.PanicException) as error:
        raise TokbenchError(
            f"{path}: not a readable .xlsx workbook ({first_line(error)}); name the resource's own file"
        ) from None
    described = [sheet for sheet in book.values() if {*COLUMNS} <= {*sheet.columns}]
    if not described:
        raise TokbenchError(f"{path}: no sheet has the columns {' and '.join(COLUMNS)}; name MorphoLEX_en.xlsx")
    for sheet in described:
        yield from sheet.select(pl.col(COLUMNS).fill_null("").str.strip_chars()).iter_rows()
