"""``tokbench import_tasks``: make lm-eval tasks of questions in local files."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError


@click.command("import_tasks")
@click.option("--recipe", required=True, help="Name of a local suite, or its options as JSON.")
@click.option(
    "--path", type=click.Path(exists=True, file_okay=False), help="Folder of the files, if not in the recipe."
)
@click.option("-o", "--output", required=True, type=OutputFolder("tasks"), help="Folder of the tasks.")
def command(recipe: str, path: str | None, output: str) -> None:
    """Make lm-eval tasks of the questions in a local suite's files."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.downstream.local import write_local_tasks
    from tokbench.downstream.suites import SuiteOptions, named_suites

    suite = recipe_options(recipe, SuiteOptions, named_suites())
    if suite.source != "local":
        raise TokbenchError(f"--recipe: its source is '{suite.source}'; name a suite whose source is 'local'")
    if path is not None:
        if suite.path is not None and suite.path.resolve() != Path(path).resolve():
            raise TokbenchError(f"--path {path}: the recipe says {suite.path}; name the folder in one place")
        suite = SuiteOptions.model_validate({**suite.model_dump(mode="json"), "path": path})
    for name, written in write_local_tasks(suite, output).items():
        skipped = f"; {written.skipped:,} that no model can answer were left out" if written.skipped else ""
        click.echo(f"{name}: {written.questions:,} questions{skipped}", err=True)
