"""The tables of a package: whatever its modules declare, with no list of them anywhere.

Other distributions name modules of theirs in the entry-point group that bears the package's name. The fingerprint of a
command takes the modules named here for imported, see :mod:`tokbench.workflow.fingerprint`.
"""

from functools import cache
from importlib import import_module

from tokbench.errors import TokbenchError
from tokbench.tidy.modules import modules_in
from tokbench.tidy.table import TableCommand, TidyTable


@cache
def tables_in(command: TableCommand, *places: str) -> tuple[TidyTable, ...]:
    """Every table that the modules of some packages, or modules by themselves, declare.

    Args:
        command: which command makes them.
        places: names of packages and modules.

    Returns:
        In order of places, modules and declarations.

    Raises:
        TokbenchError: two tables bear one name, or a table is declared for another command.
    """
    folders = {place: getattr(import_module(place), "__path__", None) for place in places}
    modules = {name: import_module(name) for place in places for name in modules_in(place, folders[place])}
    found: dict[str, tuple[str, TidyTable]] = {}
    for name, module in modules.items():
        for table in vars(module).values():
            if not isinstance(table, TidyTable):
                continue
            if table.command != command:
                raise TokbenchError(
                    f"{name}: table {table.name} is one of '{table.command}'; those here are of '{command}'"
                )
            first, known = found.setdefault(table.name, (name, table))
            if known is not table:
                raise TokbenchError(f"table {table.name} is declared twice, in {first} and in {name}; rename one")
    return tuple(table for _, table in found.values())
