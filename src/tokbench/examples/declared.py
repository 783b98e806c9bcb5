"""The tables of this package."""

from tokbench.tidy.collection import tables_in
from tokbench.tidy.table import TidyTable


def declared() -> tuple[TidyTable, ...]:
    """Every table that ``tokbench cut_examples`` makes."""
    return tables_in("cut_examples", "tokbench.examples")
