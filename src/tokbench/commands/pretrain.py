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
    """Pretrain a language model with llm-foundry; a run that was stopped goes on from its checkpoint."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.inputs.yaml import parse_yaml
    from tokbench.pretraining.options import PRESETS, MptOptions, architecture_of

    log_to_stderr()
    from tokbench.pretraining.train import pretrain

    given = parse_yaml(recipe, "--recipe")
    options = recipe_options(recipe, architecture_of(given) if isinstance(given, dict) else MptOptions, PRESETS)
    pretrain(Path(packed), Path(tokenizer), options, Path(output), Path(checkpoints or f"{output}.checkpoints"))
