"""``tokbench tabulate``: the results of all stages in tidy tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import EXPECTED, EXPERIMENT, by_corpus
from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError
from tokbench.stage import stages


def _result_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each result that tables read."""
    for result in reversed(stages.results()):
        if result.meaning:
            option = f"--{result.name.replace('_', '-')}"
            function = click.option(option, result.name, multiple=True, help=f"{result.meaning}; may be repeated.")(
                function
            )
    return function


@command("tabulate", "collect measurements and results in tidy tables", group="stages", place=360)
@click.argument("experiment", required=False, type=EXPERIMENT)
@EXPECTED
@_result_options
@click.option("--baseline", "baselines", multiple=True, metavar="CORPUS=VARIANT", help="Baseline of a corpus.")
@click.option("--venn", multiple=True, help="Variant of a Venn diagram; repeat three times for each diagram.")
@click.option(
    "--overlaps",
    type=click.Choice(["all", "longer"]),
    default="all",
    show_default=True,
    help="Tokens counted in the table of common tokens: all, or those longer than one byte.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("tables"), help="Folder of the tables.")
def tabulate_command(
    experiment: str | None,
    baselines: tuple[str, ...],
    venn: tuple[str, ...],
    overlaps: str,
    output: str,
    **files: tuple[str, ...],
) -> None:
    """Collect the outputs of all stages in tidy tables (Parquet and CSV) and compare the tokenizers with each other.
    EXPERIMENT is the file experiment/tabulate.json of an experiment's results; otherwise the options name the files.
    """
    from tokbench.tabulation.gathered import Gathered
    from tokbench.tabulation.results import tabulate
    from tokbench.tabulation.table import write_tables

    if experiment is not None:
        gathered = _of_experiment(experiment)
    else:
        _check_runs(files)
        if len(venn) % 3:
            message = f"a Venn diagram compares three variants (found {len(venn)}); name three for each"
            raise TokbenchError(f"--venn: {message}")
        triples = [venn[start : start + 3] for start in range(0, len(venn), 3)]
        gathered = Gathered(files, by_corpus(baselines), triples, overlap_single_bytes=overlaps == "all")
    tables = tabulate(gathered)
    write_tables(tables, Path(output), "tables")
    for table, frame in tables.items():
        click.echo(f"{table.name}: {len(frame):,} rows", err=True)


def _of_experiment(path: str) -> Any:
    from tokbench.config.load import read_settings
    from tokbench.tabulation.gathered import Gathered

    settings = read_settings(path, "files", "baselines", "venn", "overlaps")
    folder = Path(path).parents[1]
    files = {name: [str(folder / file) for file in files] for name, files in settings["files"].items()}
    return Gathered(files, settings["baselines"], settings["venn"], overlap_single_bytes=settings["overlaps"] == "all")


def _check_runs(files: dict[str, tuple[str, ...]]) -> None:
    from tokbench.tabulation.reading import is_run

    for name in ("embeddings", "model"):
        for folder in files[name]:
            if not is_run(Path(folder)):
                raise TokbenchError(f"--{name} {folder}: expected a folder MODEL/VARIANT/SIZE")
