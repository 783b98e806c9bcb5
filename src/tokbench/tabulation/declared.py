"""The tables of this package."""

from tokbench.tidy.collection import tables_in
from tokbench.tidy.table import TidyTable


def declared() -> tuple[TidyTable, ...]:
    """Every table that ``tokbench tabulate`` makes."""
    return tables_in("tabulate", "tokbench.tabulation")
