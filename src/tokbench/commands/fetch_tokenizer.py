"""``tokbench fetch_tokenizer``: fetch the files of a tokenizer from the Hugging Face hub."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder


@click.command("fetch_tokenizer")
@click.option("--recipe", required=True, help="Name and revision on the hub as JSON: {path: NAME, revision: HASH}.")
@click.option("-o", "--output", required=True, type=OutputFolder("fetched tokenizer"), help="Folder of the files.")
def command(recipe: str, output: str) -> None:
    """Fetch a tokenizer's files once, at a pinned revision, and nothing else; importing it then needs no network."""
    from tokbench.adapters.hub import HubTokenizer, fetch_files
    from tokbench.atomic import atomic_folder
    from tokbench.commands.arguments import recipe_options

    wanted = recipe_options(recipe, HubTokenizer, {})
    with atomic_folder(output, "fetched tokenizer") as folder:
        fetch_files(wanted.path, wanted.revision, Path(folder))
