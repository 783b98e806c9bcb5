"""``tokbench pretrain``: pretrain a language model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.outputs import OutputFolder
from tokbench.pretraining.presets import RECIPES


@click.command("pretrain")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option("--packed", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of MDS shards.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder for resuming; beside the output if left out."
)
@click.option("-o", "--output", required=True, type=OutputFolder("model"), help="Folder of the model.")
def command(recipe: str, packed: str, tokenizer: str, checkpoints: str | None, output: str) -> None:
    """Pretrain an MPT model with llm-foundry; a run that was stopped goes on from its checkpoint."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.pretraining.options import PRESETS, ModelOptions

    log_to_stderr()
    from tokbench.pretraining.train import pretrain

    options = recipe_options(recipe, ModelOptions, PRESETS)
    pretrain(Path(packed), Path(tokenizer), options, Path(output), Path(checkpoints or f"{output}.checkpoints"))
