"""Sheets of an ``.xlsx`` workbook, which is a zip archive of XML (ECMA-376, part 1, section 18)."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tokbench.registry import TokbenchError

NAMESPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
STRINGS = "xl/sharedStrings.xml"
SHEET = re.compile(r"xl/worksheets/sheet(\d+)\.xml")
COLUMN = re.compile("[A-Z]+")

Row = dict[str, str]
"""Values by the letters of their column; cells without a value are absent."""


def sheets(path: Path) -> Iterator[Iterator[Row]]:
    """The rows of each sheet, sheets in the order of their numbers.

    Raises:
        TokbenchError: the file is no workbook.
    """
    try:
        with zipfile.ZipFile(path) as book:
            shared = _shared_strings(book)
            names = [name for name in book.namelist() if SHEET.fullmatch(name)]
            for name in sorted(names, key=lambda name: int(SHEET.fullmatch(name)[1])):  # type: ignore[index]
                yield _rows(book, name, shared)
    except (OSError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise TokbenchError(f"{path}: not a readable .xlsx workbook ({error}); name the resource's own file") from None


def _shared_strings(book: zipfile.ZipFile) -> list[str]:
    if STRINGS not in book.namelist():
        return []
    return [_text(item) for item in ElementTree.fromstring(book.read(STRINGS)).iter(f"{NAMESPACE}si")]


def _rows(book: zipfile.ZipFile, name: str, shared: list[str]) -> Iterator[Row]:
    for row in ElementTree.fromstring(book.read(name)).iter(f"{NAMESPACE}row"):
        cells = ((COLUMN.match(cell.get("r", "")), _value(cell, shared)) for cell in row.iter(f"{NAMESPACE}c"))
        yield {column[0]: value for column, value in cells if column and value is not None}


def _value(cell: ElementTree.Element, shared: list[str]) -> str | None:
    if cell.get("t") == "inlineStr":
        return _text(cell)
    value = cell.find(f"{NAMESPACE}v")
    if value is None or value.text is None:
        return None
    return shared[int(value.text)] if cell.get("t") == "s" else value.text


def _text(element: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{NAMESPACE}t"))
