"""``tokbench translate``: translate a split with a translation model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.translation.presets import RECIPES


@click.command("translate")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON, for the search.")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--from", "source", required=True, help="Language that is translated.")
@click.option("--to", "target", required=True, help="Language that it is translated into.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file.")
@click.argument("split", type=click.Path(exists=True, dir_okay=False))
def command(recipe: str, model: str, source: str, target: str, output: str, split: str) -> None:
    """Translate SPLIT, a file of a prepared parallel corpus, by beam search."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    from tokbench.translation.translate import translate

    count = translate(Path(model), Path(split), (source, target), options, Path(output))
    click.echo(f"{count:,} sentences translated", err=True)
