"""``tokbench fetch_tasks``: fetch the data of a hub suite."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder


@click.command("fetch_tasks")
@click.option("--recipe", required=True, help="Name of a suite, or its options as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("fetched tasks"), help="Folder, the hub's cache.")
def command(recipe: str, output: str) -> None:
    """Fetch the data sets of a suite from the Hugging Face hub once; evaluation then needs no network."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.downstream.fetch_tasks import fetch_tasks
    from tokbench.downstream.suites import SuiteOptions, named_suites

    for name in fetch_tasks(recipe_options(recipe, SuiteOptions, named_suites()), Path(output)):
        click.echo(name, err=True)
