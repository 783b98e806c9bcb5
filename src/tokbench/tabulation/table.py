"""Declarations of tidy tables, and functions that discover, build, check and write them.

A tidy table is declared once, in the module of its maker: name, columns with type, unit and definition, place in the
report. Schema, Parquet, CSV, typeset forms, headings, captions, the report and the site's page of tables follow from
it. The frame that the maker returns is checked against the declaration.

Tables are discovered by importing the modules of a command's packages; no list of them exists. Other distributions add
modules through the entry-point group with the package's name. Fingerprints include these modules, see
:mod:`tokbench.workflow.fingerprint`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from tokbench.errors import TokbenchError, unknown
from tokbench.io.atomic import Kind as RecordKind
from tokbench.io.atomic import atomic_folder
from tokbench.io.tables import write_csv
from tokbench.registry import PLACES, modules_in

Kind = Literal["text", "count", "percent", "real", "mixed", "p"]
"""Print format of a column. ``mixed`` is for real numbers of several measures, each with its own digits."""
TableCommand = Literal["tabulate", "analyse", "cut_examples"]
Form = Literal["table", "figure", "sentence", "signs", "cuts"]
Section = Literal[
    "summary",
    "experiment",
    "tokenizers",
    "intrinsic",
    "models",
    "downstream",
    "translation",
    "statistics",
    "vocabularies",
    "examples",
    "published",
]
FOLDERS: dict[TableCommand, str] = {"tabulate": "tables", "analyse": "statistics", "cut_examples": "examples"}
"""Folder of each command's tables, within the experiment's folder."""

FILES = "files."
"""Beginning of an argument of a maker that is the files of a result."""
SHARE, DIFFERENCE, EXCESS = "share", "difference of shares", "ratio less 1"
PROBABILITY, MEASURE = "probability", "that of the measure"
"""Units that determine how a real number prints. A share lies between 0 and 1. Shares, their differences, and ratios
minus 1 (which may exceed 1) print in percent."""
_KINDS: dict[str, Kind] = {
    SHARE: "percent",
    DIFFERENCE: "percent",
    EXCESS: "percent",
    PROBABILITY: "p",
    MEASURE: "mixed",
}


@dataclass(frozen=True)
class Column:
    """One column of a tidy table.

    Attributes:
        name: name in Parquet and CSV.
        dtype: type in Parquet.
        definition: meaning of the values, in a phrase.
        unit: unit of a number (default: none).
        heading: heading in print (default: the name).
        decimals: digits after the point in print (default: None, chosen from the values).
        empty: reason for missing values, if the row's ``reason`` does not give it (default: none).
    """

    name: str
    dtype: type[pl.DataType]
    definition: str
    unit: str = ""
    heading: str = ""
    decimals: int | None = None
    empty: str = ""

    @property
    def kind(self) -> Kind:
        """Print format, from unit and type."""
        if not self.dtype.is_numeric():
            return "text"
        return "count" if self.dtype.is_integer() else _KINDS.get(self.unit, "real")


@dataclass(frozen=True)
class Print:
    """One form in which the report prints a table, on its page and typeset.

    Attributes:
        section: identifier of the section.
        caption: the measured quantity; may contain keys of ``by`` in braces.
        shown: names of the columns in order (default: all except ``reason``).
        by: columns to group by; one printed table per group (default: one table).
        files: files that the numbers come from, see :class:`tokbench.report.exhibits.NumberSource`.
        folds_above: number of rows above which the page shows the table closed (default: None, never).
        name: stem of its files (default: the table's name).
        arranged: True if a module of the section chooses place or layout. All others are appended at the section's
            end, row by row (default: False).
        form: printed form (default: table); all other forms are arranged.
    """

    section: Section
    caption: str
    shown: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    folds_above: int | None = None
    name: str = ""
    arranged: bool = False
    form: Form = "table"

    def columns(self, table: "TidyTable") -> list[Column]:
        """Return the columns shown, in order."""
        return [
            table[name] for name in self.shown or [column.name for column in table.columns if column.name != "reason"]
        ]


@dataclass(frozen=True, eq=False)
class TidyTable:
    """A declared table.

    Attributes:
        name: stem of its files.
        rows: meaning of one row, in a phrase.
        columns: columns in order.
        maker: function that returns the frame.
        takes: arguments of the maker: names of the command's inputs or of other tables of the command, or
            ``files.NAME``, the files of a result of a stage.
        command: command that makes it (default: analyse).
        prints: forms in the report (default: none, only Parquet and CSV).
        of_models: True if it depends on trained language models (default: False).
        keys: columns that identify a row, used to compare two runs. Tables without keys are not compared.

    Raises:
        TokbenchError: a key or a printed column is not declared, or the section is not one of the report's.
    """

    name: str
    rows: str
    columns: tuple[Column, ...]
    maker: Callable[..., pl.DataFrame]
    takes: tuple[str, ...]
    command: TableCommand = "analyse"
    prints: tuple[Print, ...] = ()
    of_models: bool = False
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for name in self.keys:
            if name not in names:
                raise TokbenchError(f"table {self.name}: {unknown(name, 'column', names)}")
        for form in self.prints:
            if form.section not in get_args(Section):
                raise TokbenchError(f"table {self.name}: {unknown(form.section, 'section', get_args(Section))}")
            if form.form != "table" and not form.arranged:
                raise TokbenchError(f"table {self.name}: a {form.form} is arranged by a module of its section; say so")
            for name in (*form.shown, *form.by):
                if name not in names:
                    raise TokbenchError(f"table {self.name}: {unknown(name, 'column', names)}")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TokbenchError(f"table {self.name}: column {', '.join(twice)} is declared twice; keep one")

    def __getitem__(self, name: str) -> Column:
        """Return a column by name."""
        return {column.name: column for column in self.columns}[name]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Types by column name."""
        return schema(self.columns)

    @property
    def folder(self) -> str:
        """Folder of its files, within the experiment's folder."""
        return FOLDERS[self.command]

    @property
    def made_by(self) -> str:
        """Full name of the maker."""
        return f"{self.maker.__module__}.{self.maker.__qualname__}"

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Return the table from rows by column name; a column that a row does not name is null there.

        Raises:
            TokbenchError: a row names a column that is not declared.
        """
        listed = list(rows)
        if unknown_names := {name for row in listed for name in row} - self.schema.keys():
            raise TokbenchError(f"table {self.name}: {unknown(min(unknown_names), 'column', list(self.schema))}")
        columns = {name: [row.get(name) for row in listed] for name in self.schema}
        return pl.DataFrame(columns, schema=self.schema)

    def check(self, frame: pl.DataFrame) -> None:
        """Reject a frame that differs from the declaration in columns, their order or types.

        Raises:
            TokbenchError: the frame differs; the message names the maker and the columns.
        """
        if not isinstance(frame, pl.DataFrame):
            raise TokbenchError(f"table {self.name}: {self.made_by} returns {type(frame).__name__}, not a polars frame")
        if list(frame.schema.items()) == list(self.schema.items()):
            return
        made = {name: str(dtype) for name, dtype in frame.schema.items()}
        wanted = {name: str(dtype) for name, dtype in pl.Schema(self.schema).items()}
        faults = [
            *(f"no column {name}" for name in wanted if name not in made),
            *(f"column {name}, which is not declared" for name in made if name not in wanted),
            *(
                f"{name} as {made[name]}, declared as {wanted[name]}"
                for name in wanted
                if made.get(name, wanted[name]) != wanted[name]
            ),
        ] or [f"the columns in the order {', '.join(made)}, declared as {', '.join(wanted)}"]
        raise TokbenchError(
            f"table {self.name}: {self.made_by} returns {'; '.join(faults)}; let maker and columns agree"
        )


def require(frame: pl.DataFrame, columns: Sequence[Column], name: str) -> None:
    """Raise TokbenchError if a table lacks one of the columns."""
    lacking = [column.name for column in columns if column.name not in frame.columns]
    if lacking:
        expected = ", ".join(column.name for column in columns)
        raise TokbenchError(f"{name}: no column {', '.join(lacking)}; expected {expected}")


def schema(columns: Sequence[Column]) -> dict[str, type[pl.DataType]]:
    """Return types by column name."""
    return {column.name: column.dtype for column in columns}


@cache
def tables_of(*commands: TableCommand) -> tuple[TidyTable, ...]:
    """Return every table of some commands, in order of commands, packages, modules and declarations.

    Raises:
        TokbenchError: two tables have the same name, or a table is declared for another command.
    """
    declared: dict[str, tuple[str, TidyTable]] = {}
    for command, module in _modules(commands):
        for table in [value for value in vars(import_module(module)).values() if isinstance(value, TidyTable)]:
            if table.command != command:
                raise TokbenchError(
                    f"{module}: table {table.name} is declared for '{table.command}'; set command to '{command}'"
                )
            first, known = declared.setdefault(table.name, (module, table))
            if known is not table:
                raise TokbenchError(f"table {table.name} is declared twice, in {first} and in {module}; rename one")
    return tuple(table for _, table in declared.values())


def _modules(commands: Iterable[TableCommand]) -> Iterator[tuple[TableCommand, str]]:
    """Yield the modules that may declare tables, for each command."""
    for command in commands:
        for place in PLACES[command]:
            for module in modules_in(place, getattr(import_module(place), "__path__", None)):
                yield command, module


Tables = dict[TidyTable, pl.DataFrame]


def make_tables(declared: Sequence[TidyTable], material: object) -> Tables:
    """Call every maker once.

    Args:
        declared: tables, in any order.
        material: object whose public attributes are inputs of makers, in addition to the tables.

    Returns:
        The frames, in order of table names.

    Raises:
        TokbenchError: an input is unknown, a table depends on itself, or a table has the name of an input.
    """
    by_name = {table.name: table for table in declared}
    for name in by_name.keys() & set(dir(material)):
        raise TokbenchError(f"table {name} has the name of an input of other tables; give it another")
    made: dict[str, pl.DataFrame] = {}

    def taken(name: str, by: tuple[str, ...]) -> Any:
        if name in by:
            raise TokbenchError(f"table {name} depends on itself through {', '.join(by)}")
        if name.startswith(FILES):
            return material.files.get(name.removeprefix(FILES), ())  # type: ignore[attr-defined]
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


def write_tables(tables: Mapping[TidyTable, pl.DataFrame], folder: Path, kind: RecordKind) -> None:
    """Write each table as ``{name}.parquet`` and ``{name}.csv``, all of them or none; text in CSV is escaped.

    Raises:
        TokbenchError: a frame differs from its declaration.
    """
    with atomic_folder(folder, kind) as partial:
        for table, frame in tables.items():
            table.check(frame)
            frame.write_parquet(partial / f"{table.name}.parquet", compression="zstd")
            write_csv(frame, partial / f"{table.name}.csv")
