"""All tidy tables of an experiment, made from its result files."""

from tokbench.errors import TokbenchError, unknown
from tokbench.stage import stages
from tokbench.tabulation.gathered import Gathered
from tokbench.tabulation.makers import check_makers
from tokbench.tabulation.table import FILES, Tables, make_tables, tables_of


def tabulate(gathered: Gathered) -> Tables:
    """Build every tidy table from an experiment's files.

    Raises:
        TokbenchError: a maker takes files of an unknown result, or see
            :func:`tokbench.tabulation.makers.check_makers`.
    """
    tables, known = tables_of("tabulate"), {result.name for result in stages.results()}
    for table in tables:
        for name in (taken.removeprefix(FILES) for taken in table.takes if taken.startswith(FILES)):
            if name not in known:
                raise TokbenchError(f"table {table.name} takes '{FILES}{name}': {unknown(name, 'result', known)}")
    check_makers(gathered)
    return make_tables(tables, gathered)
