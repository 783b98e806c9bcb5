"""The tables that a command makes: whatever the modules of its packages declare, with no list of them anywhere.

Other distributions name modules of theirs in the entry-point group that bears the package's name. A fingerprint takes
the modules of the commands whose tables are asked for as imported, see :mod:`tokbench.workflow.fingerprint`.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from tokbench.errors import TokbenchError
from tokbench.tidy.modules import PLACES, modules_in
from tokbench.tidy.table import TableCommand, TidyTable


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
