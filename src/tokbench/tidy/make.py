"""Tables made by their makers, from what a command read and from each other, and written as they were declared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.atomic import Kind, atomic_folder
from tokbench.errors import TokbenchError, unknown
from tokbench.spreadsheets import write_csv
from tokbench.tidy.table import TidyTable

Tables = dict[TidyTable, pl.DataFrame]


def make_tables(declared: Sequence[TidyTable], material: object) -> Tables:
    """Call every maker once, with what it takes.

    Args:
        declared: the tables, in any order.
        material: its public attributes are what makers may take, beside other tables of these.

    Returns:
        The frames, in order of names.

    Raises:
        TokbenchError: a maker takes what is neither, or its own table, or a name is that of both.
    """
    by_name = {table.name: table for table in declared}
    for name in by_name.keys() & set(dir(material)):
        raise TokbenchError(f"table {name} has the name of an input of other tables; give it another")
    made: dict[str, pl.DataFrame] = {}

    def taken(name: str, by: tuple[str, ...]) -> Any:
        if name in by:
            raise TokbenchError(f"table {name} is made of itself, by way of {', '.join(by)}")
        if name not in by_name:
            known = [attribute for attribute in dir(material) if not attribute.startswith("_")]
            if name not in known:
                raise TokbenchError(f"table {by[-1]} takes '{name}': {unknown(name, 'input', [*known, *by_name])}")
            return getattr(material, name)
        if name not in made:
            table = by_name[name]
            made[name] = table.maker(*(taken(other, (*by, name)) for other in table.takes))
        return made[name]

    return {by_name[name]: taken(name, ()) for name in sorted(by_name)}


def write_tables(tables: Mapping[TidyTable, pl.DataFrame], folder: Path, kind: Kind) -> None:
    """Write each table as ``{name}.parquet`` and ``{name}.csv``, all of them or none; in the latter text is guarded.

    Raises:
        TokbenchError: a frame is not what its declaration says.
    """
    with atomic_folder(folder, kind) as partial:
        for table, frame in tables.items():
            table.check(frame)
            frame.write_parquet(partial / f"{table.name}.parquet", compression="zstd")
            write_csv(frame, partial / f"{table.name}.csv")
