"""CSV that is safe to open: text that a spreadsheet would run as a formula is written as text.

A cell of text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and is no number, gets an
apostrophe before it, which spreadsheets take for the sign of text. One that begins so after apostrophes gets one more:
whoever takes one apostrophe away has the text again. Numbers are left as they are, negative ones too.
"""

import re
from pathlib import Path

import polars as pl

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
