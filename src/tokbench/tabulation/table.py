"""Tidy tables: what one is, how those of a package are found, made of what their makers take, checked and written.

A tidy table is declared once, beside its maker: name, columns with type, unit and definition, place in the report.

Schema, Parquet, CSV, typeset forms, headings, captions, the page and docs/tables.md follow from the declaration, and
what its maker returns is held to it.

The tables that a command makes: whatever the modules of its packages declare, with no list of them anywhere.

Other distributions name modules of theirs in the entry-point group that bears the package's name. A fingerprint takes
the modules of the commands whose tables are asked for as imported, see :mod:`tokbench.workflow.fingerprint`.

Tables made by their makers, from what a command read and from each other, and written as they were declared.
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
"""How a column prints: words, whole numbers, shares as percentages, real numbers, real numbers of several measures,
each with digits of its own, or p-values."""
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
"""Where each command writes its tables, within the experiment's folder."""

SHARE, DIFFERENCE, EXCESS = "share", "difference of shares", "ratio less 1"
PROBABILITY, MEASURE = "probability", "that of the measure"
"""Units that settle how a real number prints. A share lies between 0 and 1; shares, their differences, and
ratios less 1, which may be above 1, print in percent."""
_KINDS: dict[str, Kind] = {
    SHARE: "percent",
    DIFFERENCE: "percent",
    EXCESS: "percent",
    PROBABILITY: "p",
    MEASURE: "mixed",
}


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: in Parquet and CSV.
        dtype: type in Parquet.
        definition: what it holds, in a phrase.
        unit: of a number, where it has one.
        heading: what stands above it in print; the name where empty.
        decimals: in print; fitted to the values when None.
        empty: why a value is missing where the row's ``reason`` does not say it.
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
        """How it prints, by its unit and type."""
        if not self.dtype.is_numeric():
            return "text"
        return "count" if self.dtype.is_integer() else _KINDS.get(self.unit, "real")


@dataclass(frozen=True)
class Print:
    """One way in which the report prints a table: on its page, and typeset.

    Attributes:
        section: identifier of the section.
        caption: what was measured. Keys of ``by`` stand in braces in it.
        shown: names of the columns in order; all but ``reason`` when empty.
        by: columns, one printed table for each of whose values.
        files: the files behind each number, see :class:`tokbench.report.layout.NumberSource`.
        folds_above: rows above which the page shows it closed at first; None for never.
        name: stem of its files where it is not the table's name.
        arranged: whether a module of the section has it in a place or a layout of its own. All others follow at the
            section's end, row by row.
        form: what it is printed as; all but tables are arranged.
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
        """The columns shown, in order."""
        return [table[name] for name in self.shown or [one.name for one in table.columns if one.name != "reason"]]


@dataclass(frozen=True, eq=False)
class TidyTable:
    """A table, declared.

    Attributes:
        name: stem of its files.
        rows: what one row is, or whose, in a phrase.
        columns: in order.
        maker: gives the frame.
        takes: what the maker is called with: names of what its command reads, or of other tables of the command.
        command: which command makes it.
        prints: where it stands in the report, and how; a table without any is in Parquet and CSV alone.
        of_models: whether it takes trained language models.
        keys: columns that together tell each row from all others, by which two runs are set side by side; a table
            without any is left out of that.

    Raises:
        TokbenchError: a key or what is printed is no column, or the section is not one of the report.
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
        for one in self.prints:
            if one.section not in get_args(Section):
                raise TokbenchError(f"table {self.name}: {unknown(one.section, 'section', get_args(Section))}")
            if one.form != "table" and not one.arranged:
                raise TokbenchError(f"table {self.name}: a {one.form} is arranged by a module of its section; say so")
            for name in (*one.shown, *one.by):
                if name not in names:
                    raise TokbenchError(f"table {self.name}: {unknown(name, 'column', names)}")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TokbenchError(f"table {self.name}: column {', '.join(twice)} is declared twice; keep one")

    def __getitem__(self, name: str) -> Column:
        """A column by name."""
        return {column.name: column for column in self.columns}[name]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Types by name."""
        return schema(self.columns)

    @property
    def folder(self) -> str:
        """Where its files lie, within the experiment's folder."""
        return FOLDERS[self.command]

    @property
    def made_by(self) -> str:
        """The maker's full name."""
        return f"{self.maker.__module__}.{self.maker.__qualname__}"

    def check(self, frame: pl.DataFrame) -> None:
        """Reject a frame that is not what is declared: other columns, another order, another type.

        Raises:
            TokbenchError: it names the maker and the columns.
        """
        if not isinstance(frame, pl.DataFrame):
            raise TokbenchError(
                f"table {self.name}: {self.made_by} gives {type(frame).__name__}, not a frame of polars"
            )
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
        raise TokbenchError(f"table {self.name}: {self.made_by} gives {'; '.join(faults)}; let maker and columns agree")


def require(frame: pl.DataFrame, columns: Sequence[Column], name: str) -> None:
    """Reject a table that lacks one of the columns."""
    lacking = [column.name for column in columns if column.name not in frame.columns]
    if lacking:
        expected = ", ".join(column.name for column in columns)
        raise TokbenchError(f"{name}: no column {', '.join(lacking)}; expected {expected}")


def schema(columns: Sequence[Column]) -> dict[str, type[pl.DataType]]:
    """Types by name."""
    return {column.name: column.dtype for column in columns}


@cache
def tables_of(*commands: TableCommand) -> tuple[TidyTable, ...]:
    """Every table that some commands make.

    Returns:
        In order of commands, places, modules and declarations.

    Raises:
        TokbenchError: two tables bear one name, or a table is declared for another command.
    """
    found: dict[str, tuple[str, TidyTable]] = {}
    for command, module in _modules(commands):
        for table in [one for one in vars(import_module(module)).values() if isinstance(one, TidyTable)]:
            if table.command != command:
                raise TokbenchError(
                    f"{module}: table {table.name} is one of '{table.command}'; those here are of '{command}'"
                )
            first, known = found.setdefault(table.name, (module, table))
            if known is not table:
                raise TokbenchError(f"table {table.name} is declared twice, in {first} and in {module}; rename one")
    return tuple(table for _, table in found.values())


def _modules(commands: Iterable[TableCommand]) -> Iterator[tuple[TableCommand, str]]:
    """The modules that may declare tables of each command."""
    for command in commands:
        for place in PLACES[command]:
            for module in modules_in(place, getattr(import_module(place), "__path__", None)):
                yield command, module


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


def write_tables(tables: Mapping[TidyTable, pl.DataFrame], folder: Path, kind: RecordKind) -> None:
    """Write each table as ``{name}.parquet`` and ``{name}.csv``, all of them or none; in the latter text is guarded.

    Raises:
        TokbenchError: a frame is not what its declaration says.
    """
    with atomic_folder(folder, kind) as partial:
        for table, frame in tables.items():
            table.check(frame)
            frame.write_parquet(partial / f"{table.name}.parquet", compression="zstd")
            write_csv(frame, partial / f"{table.name}.csv")
