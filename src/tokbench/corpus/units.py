"""Units of a corpus: documents that belong together, such as the novels of an author.

The documents of a unit are similar, so they count as one observation. A table names the unit of each document. A unit
falls into one split, and statistics sum over its documents.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shutil import copyfile

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, check_once, shortened
from tokbench.io.text_files import first_line

DRAWN_UNITS = "units.csv"
"""File in a corpus's folder with the units of its documents. It exists only if documents are drawn and have units."""
MOST_DOCUMENTS = 1000
"""Maximum documents in the evaluation split: with more, tables have groups of documents instead of documents."""


def read_units(path: Path | str) -> dict[int, str]:
    """Read the unit of each document of a source, by document number, ascending.

    Args:
        path: CSV with the columns ``document``, the number of a document in its source from 0, and ``unit``, a name.
            Other columns are ignored.

    Raises:
        TokbenchError: the file is not readable, lacks a column, has a row without a number or a unit, or has two rows
            for one document.
    """
    return {number: unit for (_, number), unit in _read_rows(path).items()}


def read_domain_units(path: Path | str) -> dict[tuple[str, int], str]:
    """Read the unit of each document of a mixture, by domain and number in its source, ascending.

    Args:
        path: CSV as for :func:`read_units`, with the further column ``domain``, the name of the document's source.

    Raises:
        TokbenchError: a unit is in two domains; or see :func:`read_units`.
    """
    units = _read_rows(path, by_domain=True)
    domains: dict[str, str] = {}
    for (domain, _), unit in units.items():
        if domains.setdefault(unit, domain) != domain:
            both = f"'{domains[unit]}' and '{domain}'"
            raise TokbenchError(f"{path}: unit '{unit}' is in the domains {both}; give it a name in each")
    return units


def _read_rows(path: Path | str, *, by_domain: bool = False) -> dict[tuple[str, int], str]:
    """Return the unit of each document by domain and number, ascending; the domain is empty unless asked for."""
    columns = (*["domain"] * by_domain, "document", "unit")
    units: dict[tuple[str, int], str] = {}
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = [name for name in columns if name not in (rows.fieldnames or ())]
            if missing:
                listed = ", ".join(columns[:-1])
                raise TokbenchError(f"{path}: no column '{missing[0]}'; give CSV with the columns {listed} and unit")
            check_once(path, list(rows.fieldnames or ()), columns)
            # One row for each document.
            for row in rows:
                number, unit = row["document"] or "", row["unit"] or ""
                place = f"{path}:{rows.line_num}"
                if not (number.isascii() and number.isdecimal() and len(number) < 19):
                    raise TokbenchError(f"{place}: '{shortened(number)}' is no document; give its number, from 0")
                if not unit:
                    raise TokbenchError(f"{place}: document {number} has no unit; name one")
                key = (row["domain"] or "") if by_domain else "", int(number)
                if key in units:
                    raise TokbenchError(f"{place}: document {number} is named twice; name each document once")
                units[key] = unit
    except (OSError, ValueError, csv.Error) as error:
        raise TokbenchError(f"{path}: not readable as CSV ({first_line(error)}); give UTF-8 text") from None
    return dict(sorted(units.items()))


def units_of(path: Path | str, documents: Mapping[str, NDArray[np.int64]]) -> list[str]:
    """Return the unit of each document, source after source.

    Args:
        path: see :func:`read_units` for a single source, which has the empty name, and :func:`read_domain_units`.
        documents: numbers of the documents of each source, int64 [documents], ascending.

    Raises:
        TokbenchError: the table lacks a document, or names a document that the corpus lacks; or see the readers.
    """
    units = _read_rows(path) if "" in documents else read_domain_units(path)
    known = {(domain, number): None for domain, numbers in documents.items() for number in numbers.tolist()}
    for keys, message in (
        ([key for key in known if key not in units], "has no row for document {} of the corpus"),
        ([key for key in units if key not in known], "names document {}, which the corpus does not have"),
    ):
        if keys:
            domain, number = keys[0]
            named = f"{number} of '{domain}'" if domain else f"{number}"
            raise TokbenchError(f"{path}: {message.format(named)}; name each document of this corpus once")
    return [units[key] for key in known]


def number_units(units: Sequence[str]) -> NDArray[np.int32]:
    """Return units as numbers, in the order of their first documents, int32 [documents]."""
    places = {unit: place for place, unit in enumerate(dict.fromkeys(units))}
    return np.fromiter(map(places.__getitem__, units), np.int32, len(units))


def write_units(folder: Path, documents: Iterable[tuple[int, str]]) -> None:
    """Write the units of drawn documents, in the format of :func:`read_units`.

    Args:
        folder: folder of the corpus; the file is :data:`DRAWN_UNITS`.
        documents: number of each document in the corpus, and its unit.
    """
    with open(folder / DRAWN_UNITS, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("document", "unit"))
        writer.writerows(documents)


def copy_units(origin: Path, folder: Path) -> None:
    """Copy the units of drawn documents from a folder to another, if it has them."""
    if (origin / DRAWN_UNITS).is_file():
        copyfile(origin / DRAWN_UNITS, folder / DRAWN_UNITS)


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
