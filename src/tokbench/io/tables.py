"""Tables that earlier stages or others wrote, as frames.

CSV that is safe to open: text that a spreadsheet would run as a formula is written as text.

A cell of text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and is no number, gets an
apostrophe before it, which spreadsheets take for the sign of text. One that begins so after apostrophes gets one more:
whoever takes one apostrophe away has the text again. Numbers are left as they are, negative ones too.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError, listed
from tokbench.io.atomic import reject_altered
from tokbench.io.paths import literal
from tokbench.io.text_files import first_line


def read_frame(path: Path | str, remedy: str, *, text: Sequence[str] = ()) -> pl.DataFrame:
    """The table of a Parquet file.

    Args:
        path: the file.
        remedy: what to do where it is none.
        text: columns that it must have, of text.

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
            raise TokbenchError(f"{path}: column '{column}' holds {frame[column].dtype}, not text; {remedy}")
    return frame


FORMULA = r"^'*[=+\-@\t\r](?s:.)"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def guarded(text: str) -> str:
    """A cell of text as it goes into a CSV file."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame, its text guarded."""
    text = pl.col(pl.String)
    formula = text.str.contains(FORMULA) & ~text.str.contains(NUMBER)
    frame.with_columns(pl.when(formula).then("'" + text).otherwise(text).name.keep()).write_csv(path)
