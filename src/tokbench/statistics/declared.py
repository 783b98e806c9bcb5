"""The tables of this package, and those that set published numbers beside a run's."""

from tokbench.tidy.collection import tables_in
from tokbench.tidy.table import TidyTable


def declared() -> tuple[TidyTable, ...]:
    """Every table that ``tokbench analyse`` makes."""
    return tables_in("analyse", "tokbench.statistics", "tokbench.published.beside", "tokbench.published.translated")
