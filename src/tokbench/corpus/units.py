"""Units of a corpus: documents that belong together, such as the novels of an author.

The documents of a unit are similar, so they count as one observation. A table names the unit of each document. A unit
falls into one split, and statistics sum over its documents.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, check_once, shortened
from tokbench.io.text_files import first_line

MOST_DOCUMENTS = 1000
"""Maximum documents in the evaluation split: with more, tables have groups of documents instead of documents."""


def read_units(path: Path | str) -> dict[int, str]:
    """Read the unit of each document, by document number, ascending.

    Args:
        path: CSV with the columns ``document``, the number of a document in its source from 0, and ``unit``, a name.
            Other columns are ignored.

    Raises:
        TokbenchError: the file is not readable, lacks a column, has a row without a number or a unit, or has two rows
            for one document.
    """
    units: dict[int, str] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = [name for name in ("document", "unit") if name not in (rows.fieldnames or ())]
            if missing:
                raise TokbenchError(f"{path}: no column '{missing[0]}'; give CSV with the columns document and unit")
            check_once(path, list(rows.fieldnames or ()), ("document", "unit"))
            for row in rows:
                number, unit = row["document"] or "", row["unit"] or ""
                place = f"{path}:{rows.line_num}"
                if not (number.isascii() and number.isdecimal() and len(number) < 19):
                    raise TokbenchError(f"{place}: '{shortened(number)}' is no document; give its number, from 0")
                if not unit:
                    raise TokbenchError(f"{place}: document {number} has no unit; name one")
                if int(number) in units:
                    raise TokbenchError(f"{place}: document {number} is named twice; name each document once")
                units[int(number)] = unit
    except (OSError, ValueError, csv.Error) as error:
        raise TokbenchError(f"{path}: not readable as CSV ({first_line(error)}); give UTF-8 text") from None
    return dict(sorted(units.items()))


def number_units(path: Path | str, documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the unit of each document as a number, in the order of the units' first documents, int32 [documents].

    Args:
        path: see :func:`read_units`.
        documents: numbers of a corpus's documents, int64 [documents], ascending.

    Raises:
        TokbenchError: the table lacks a document, or names a document that the corpus lacks; or see :func:`read_units`.
    """
    units = read_units(path)
    documents_of_table = np.fromiter(units, np.int64, len(units))
    for numbers, message in (
        (np.setdiff1d(documents, documents_of_table), "has no row for document {} of the corpus"),
        (np.setdiff1d(documents_of_table, documents), "names document {}, which the corpus does not have"),
    ):
        if len(numbers):
            raise TokbenchError(f"{path}: {message.format(numbers[0])}; name each document of this corpus once")
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units.values()))}
    return np.fromiter(map(places.__getitem__, units.values()), np.int32, len(units))


def check_documents(path: Path, splits: NDArray[np.int8], fractions: Mapping[str, float]) -> None:
    """Check that tables can have a row for each document of the evaluation split.

    Args:
        path: the table of units, for the message.
        splits: split of each document as an index into ``fractions``, int8 [documents].
        fractions: share of each split.

    Raises:
        TokbenchError: there are more than :data:`MOST_DOCUMENTS` documents.
    """
    number = int((splits == list(fractions).index("evaluation")).sum()) if "evaluation" in fractions else 0
    if number > MOST_DOCUMENTS:
        raise TokbenchError(
            f"{path}: the evaluation split has {number:,} documents, and units need {MOST_DOCUMENTS:,} or fewer, since "
            "tables group more of them; lower its share, or leave 'units' out"
        )
