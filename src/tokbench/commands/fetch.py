"""``tokbench fetch``: fetch a corpus from the Hugging Face hub."""

from pathlib import Path

import click

from tokbench.commands.outputs import output_file


@click.command("fetch")
@click.option("--recipe", required=True, help="The hub source as JSON, as in the configuration.")
@output_file(required=True, help="Parquet file.")
def command(recipe: str, output: str) -> None:
    """Fetch a data set once, at its pinned revision; everything after it needs no network."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.corpus.fetch import fetch
    from tokbench.corpus.sources import HubSource

    written = fetch(recipe_options(recipe, HubSource, {}), Path(output))
    click.echo(f"{written:,} documents", err=True)
