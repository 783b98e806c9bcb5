"""Tables that earlier stages or others wrote, as frames."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tokbench.atomic import reject_altered
from tokbench.errors import TokbenchError, listed
from tokbench.inputs.files import first_line
from tokbench.inputs.paths import literal


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
