"""Reader of tables as Polars frames, and a CSV writer that is safe for spreadsheets.

In CSV, text that a spreadsheet would run as a formula gets a leading apostrophe, the spreadsheet's mark of text. This
applies to cells that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and are not numbers, also after
apostrophes. Removing one apostrophe restores the text. Numbers are unchanged, negative ones too.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError, listed
from tokbench.io.atomic import reject_altered
from tokbench.io.paths import literal
from tokbench.io.text_files import first_line

FORMULA = r"^'*[=+\-@\t\r](?s:.)"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def read_frame(path: Path | str, remedy: str, *, text: Sequence[str] = ()) -> pl.DataFrame:
    """Read the table of a Parquet file.

    Args:
        path: the file.
        remedy: remedy in messages if the file is not readable.
        text: names of required text columns.

    Raises:
        TokbenchError: the file is missing, damaged or altered, or lacks a column; the message names it.
    """
    if not Path(path).is_file():
        raise TokbenchError(f"{path}: no such file; {remedy}")
    reject_altered(Path(path), f"delete its folder and {remedy}")
    try:
        frame = pl.read_parquet(literal(path), glob=False)
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TokbenchError(f"{path}: not readable as Parquet ({first_line(error)}); {remedy}") from None
    for column in text:
        if column not in frame.columns:
            raise TokbenchError(f"{path}: no column '{column}' (there are {listed(frame.columns)})")
        if frame[column].dtype != pl.String:
            raise TokbenchError(f"{path}: column '{column}' has type {frame[column].dtype}, not text; {remedy}")
    return frame


def guard_cell(text: str) -> str:
    """Return the text of a CSV cell, with an apostrophe if a spreadsheet would run it as a formula."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as CSV with guarded text."""
    text = pl.col(pl.String)
    formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep()).write_csv(path)
