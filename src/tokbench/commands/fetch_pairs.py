"""``tokbench fetch_pairs``: fetch pairs of sentences from the Hugging Face hub."""

from pathlib import Path

import click

from tokbench.commands.outputs import output_file


@click.command("fetch_pairs")
@click.option("--recipe", required=True, help="Languages, and the hub source as in the configuration, as JSON.")
@output_file(required=True, help="Parquet file.")
def command(recipe: str, output: str) -> None:
    """Fetch pairs of sentences once, at their pinned revision; everything after it needs no network."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.corpus.parallel.fetch import fetch_pairs
    from tokbench.corpus.parallel.sources import FetchedPairs

    written = fetch_pairs(recipe_options(recipe, FetchedPairs, {}), Path(output))
    click.echo(f"{written:,} pairs", err=True)
