"""``tokbench train_translation``: train a translation model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.outputs import OutputFolder
from tokbench.translation.presets import RECIPES

FOLDER = click.Path(exists=True, file_okay=False)


@click.command("train_translation")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option("--corpus", required=True, type=FOLDER, help="Prepared parallel corpus.")
@click.option("--from", "source", required=True, help="Language that is translated.")
@click.option("--to", "target", required=True, help="Language that it is translated into.")
@click.option("--source-tokenizer", required=True, type=FOLDER, help="Tokenizer of the source.")
@click.option("--target-tokenizer", type=FOLDER, help="Tokenizer of the target; the source's if left out.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder for resuming; beside the output if left out."
)
@click.option("-o", "--output", required=True, type=OutputFolder("translation model"), help="Folder of the model.")
def command(
    recipe: str,
    corpus: str,
    source: str,
    target: str,
    source_tokenizer: str,
    target_tokenizer: str | None,
    checkpoints: str | None,
    output: str,
) -> None:
    """Train a transformer on pairs of sentences; a run that was stopped goes on from its checkpoint."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    from tokbench.translation.train import train

    tokenizers = Path(source_tokenizer), Path(target_tokenizer or source_tokenizer)
    train(
        Path(corpus), (source, target), tokenizers, options, Path(output), Path(checkpoints or f"{output}.checkpoints")
    )
