"""``tokbench translate``: translate a split with a translation model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file
from tokbench.translation.presets import RECIPES


@click.command("translate")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON, for the search.")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--from", "source", required=True, help="Language that is translated.")
@click.option("--to", "target", required=True, help="Language that it is translated into.")
@output_file(mark=columns("pair", "source", "reference", "translation"), required=True, help="Parquet file.")
@memory_option()
@click.argument("split", type=click.Path(exists=True, dir_okay=False))
def command(recipe: str, model: str, source: str, target: str, output: str, megabytes: int | None, split: str) -> None:
    """Translate SPLIT, a file of a prepared parallel corpus, by beam search.

    Where the model and the sentences need more than --memory, a line says how much before either is held.
    """
    from tokbench.commands.arguments import recipe_options
    from tokbench.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    if megabytes is not None:
        from tokbench.allowance import require
        from tokbench.commands.devices import on_gpu
        from tokbench.model_memory import pairs_memory, translation_search_memory

        need = translation_search_memory(options, Path(model), on_gpu=on_gpu(options.device)) + pairs_memory(
            Path(split)
        )
        require("this translation", need, megabytes, "lower translate_batch")
    from tokbench.translation.translate import translate

    count = translate(Path(model), Path(split), (source, target), options, Path(output))
    click.echo(f"{count:,} sentences translated", err=True)
