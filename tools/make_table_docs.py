"""Text of the site's page ``docs/tables.md``, from the declarations of the tables."""

from collections.abc import Iterator

import polars as pl

from tokbench.report.typeset import markdown
from tokbench.tabulation.table import Print, TidyTable, tables_of

INTRODUCTION = """\
# The tidy tables

Every table of an experiment is written as Parquet and as CSV. `tokbench tabulate` writes to `tables/`,
`tokbench analyse` to `statistics/`, and `tokbench cut_examples` to `examples/`. The column `reason` explains empty
values. Shares and p-values are between 0 and 1; the report shows shares in percent and their differences in percentage
points.

A table is declared once, in the module of its maker: name, columns with type, unit and definition, and place in the
report. Files, typeset forms, captions, the report and this page follow from the declaration. To add a statistic, write
[one module](#a-new-statistic).

`make docs` generates this page from the declarations.
"""
TITLES = {
    "tabulate": "## Collected by `tokbench tabulate`",
    "analyse": "## Computed by `tokbench analyse`",
    "cut_examples": "## Segmented by `tokbench cut_examples`",
}
NEW = '''\
## A new statistic

Add a module to `src/tokbench/statistics/` or to a package in it, or list a module of your own package in the
entry-point group `tokbench.statistics`:

```python
"""Difference between the best and the worst variant of a model and suite."""

import polars as pl

from tokbench.tabulation.columns import MODEL, SUITE
from tokbench.tabulation.table import DIFFERENCE, Column, Print, TidyTable


def gaps(ranks: pl.DataFrame) -> pl.DataFrame:
    """Return the highest average minus the lowest."""
    average = pl.col("average")
    return ranks.group_by("model", "suite", maintain_order=True).agg((average.max() - average.min()).alias("gap"))


GAPS = TidyTable(
    "gaps",
    "a model and suite",
    (MODEL, SUITE, Column("gap", pl.Float64, "highest average minus the lowest", DIFFERENCE, "gap (points)", 1)),
    maker=gaps,
    takes=("ranks",),
    prints=(Print("statistics", "Difference between the best and the worst variant, in points."),),
)
```

The names in `takes` are other tables, or inputs of `analyse`: `accuracy` (means over seeds),
`accuracy_by_seed`, `model_accuracies` (models by their configured names), `outcomes` and `model_outcomes` (the same for
questions), `intrinsic`, `undersized` (vocabularies with fewer tokens than their size), `experiment`. The returned frame
must have the declared columns. The next run writes `statistics/gaps.parquet`, `statistics/gaps.csv` and
`typeset/gaps.*`, and adds the table to the report; `make docs` adds it to this page.
The option `keys` lists the columns that identify a row, here `keys=("model", "suite")`. With it,
`tokbench compare_experiments` compares this table between two runs.
'''
FORMS = {"table": "table", "figure": "figure", "sentence": "sentences", "signs": "signs", "cuts": "cuts of sentences"}


def page() -> str:
    """Return the text of the page."""
    tables = tables_of(*TITLES)
    lines = [INTRODUCTION]
    for command, title in TITLES.items():
        lines += [title, ""]
        for table in sorted((one for one in tables if one.command == command), key=lambda one: one.name):
            lines += described(table)
    return "\n".join([*lines, NEW])


def described(table: TidyTable) -> Iterator[str]:
    """Yield the lines on one table: rows, maker, place in the report, columns."""
    taken = ", ".join(f"`{name}`" for name in table.takes)
    yield f"### {table.name}"
    yield ""
    files = f"`{table.folder}/{table.name}.parquet` and `.csv`"
    yield f"One row: {markdown(table.rows)}. {files}, made by `{table.made_by}` from {taken}."
    yield ""
    places = [place(table, one) for one in table.prints]
    yield f"In the report: {'; '.join(places)}." if places else "Not in the report."
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
    """Return section, form and name of a print in the report."""
    by = f", by {' and '.join(one.by)}" if one.by else ""
    named = (one.name or table.name).replace("_", "-")
    return f"section *{one.section}*, {FORMS[one.form]}" + f" `{named}`" * (one.form in ("table", "figure")) + by
