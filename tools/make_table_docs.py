"""Write docs/tables.md from the tables' declarations.

Run after a change to a table: ``python tools/make_table_docs.py``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from tokbench.report.typeset import markdown
from tokbench.tabulation.table import Print, TidyTable, tables_of

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
INTRODUCTION = """\
# The tidy tables

Every table of an experiment is here twice, as Parquet and as CSV: those that `tokbench tabulate` gathers in `tables/`,
those that `tokbench analyse` computes in `statistics/`, the sentences that `tokbench cut_examples` cuts in `examples/`.
One row is one thing, and the column `reason` explains an empty value. Shares and p-values lie between 0 and 1; print
shows shares in percent and their differences in points.

A table is declared once, in the module of its maker: name, columns with type, unit and definition, place in the report.
Schema, CSV, typeset forms, captions, the page and this file follow. [A new statistic](#a-new-statistic) is one module.

This file is generated from the declarations by `tools/make_table_docs.py`.
"""
TITLES = {
    "tabulate": "## Gathered by `tokbench tabulate`",
    "analyse": "## Computed by `tokbench analyse`",
    "cut_examples": "## Cut by `tokbench cut_examples`",
}
NEW = '''\
## A new statistic

A module in `src/tokbench/statistics/`, or one of another distribution that is named in the entry-point group
`tokbench.statistics`:

```python
"""How far apart the best and the worst variant of a model and suite are."""

import polars as pl

from tokbench.tabulation.columns import MODEL, SUITE
from tokbench.tabulation.table import DIFFERENCE, Column, Print, TidyTable


def gaps(ranks: pl.DataFrame) -> pl.DataFrame:
    """The highest average minus the lowest."""
    average = pl.col("average")
    return ranks.group_by("model", "suite", maintain_order=True).agg((average.max() - average.min()).alias("gap"))


GAPS = TidyTable(
    "gaps",
    "a model and suite",
    (MODEL, SUITE, Column("gap", pl.Float64, "highest average minus the lowest", DIFFERENCE, "gap (points)", 1)),
    maker=gaps,
    takes=("ranks",),
    prints=(Print("statistics", "How far apart the best and the worst variant are, in points."),),
)
```

It takes other tables by their names, and what `analyse` reads: `accuracy` (means over seeds), `seeded` (every seed),
`every` (models by their own names), `outcomes` and `answered` (questions, likewise), `intrinsic`, `experiment`. What it
returns is held to the columns declared. `statistics/gaps.parquet` and `.csv`, `typeset/gaps.*`, a table on the page and
the next run of `tools/make_table_docs.py` have it then; `snakemake` makes them without being told. With `keys`, the
columns that together tell each row from all others, here `keys=("model", "suite")`, `tokbench compare_experiments` sets
the tables of two runs side by side.
'''
FORMS = {"table": "table", "figure": "figure", "sentence": "sentences", "signs": "signs", "cuts": "cuts of sentences"}


def page(tables: Sequence[TidyTable]) -> str:
    """The text of docs/tables.md."""
    lines = [INTRODUCTION]
    for command, title in TITLES.items():
        lines += [title, ""]
        for table in sorted((one for one in tables if one.command == command), key=lambda one: one.name):
            lines += described(table)
    return "\n".join([*lines, NEW])


def described(table: TidyTable) -> Iterator[str]:
    """One table: its rows, its maker, its place, its columns."""
    taken = ", ".join(f"`{name}`" for name in table.takes)
    yield f"### {table.name}"
    yield ""
    files = f"`{table.folder}/{table.name}.parquet` and `.csv`"
    yield f"A row: {markdown(table.rows)}. {files}, made by `{table.made_by}` of {taken}."
    yield ""
    places = [place(table, one) for one in table.prints]
    yield f"In the report: {'; '.join(places)}." if places else "In the report: nowhere."
    yield ""
    yield f'<details markdown="1"><summary>{len(table.columns)} columns</summary>'
    yield ""
    yield "| column | type | unit | definition |"
    yield "|---|---|---|---|"
    for column in table.columns:
        dtype = pl.Schema({column.name: column.dtype})[column.name]
        yield f"| `{column.name}` | {dtype} | {column.unit} | {markdown(column.definition)} |"
    yield ""
    yield "</details>"
    yield ""


def place(table: TidyTable, one: Print) -> str:
    """Where a print stands, and what it is."""
    by = f", by {' and '.join(one.by)}" if one.by else ""
    named = (one.name or table.name).replace("_", "-")
    return f"section *{one.section}*, {FORMS[one.form]}" + f" `{named}`" * (one.form in ("table", "figure")) + by


if __name__ == "__main__":
    PAGE.write_text(page(tables_of("tabulate", "analyse", "cut_examples")), encoding="utf-8")
