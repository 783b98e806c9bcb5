"""``tokbench pretrain``: pretrain a language model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.memory_option import memory_option
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
@memory_option()
def command(
    recipe: str, packed: str, tokenizer: str, checkpoints: str | None, output: str, megabytes: int | None
) -> None:
    """Pretrain an MPT model with llm-foundry; a run that was stopped goes on from its checkpoint.

    Where the model needs more than --memory, a line says how much before anything of it is made.
    """
    from tokbench.commands.arguments import recipe_options
    from tokbench.pretraining.options import PRESETS, ModelOptions

    log_to_stderr()
    from tokbench.pretraining.train import pretrain

    options = recipe_options(recipe, ModelOptions, PRESETS)
    if megabytes is not None:
        from tokbench.allowance import require
        from tokbench.commands.devices import on_gpu
        from tokbench.pretraining.needs import training_memory
        from tokbench.pretraining.pack import Packing

        there = options if on_gpu(options.device) else options.model_copy(update={"device": "cpu"})
        need = training_memory(there, Packing.read(Path(packed)).vocabulary)
        require("this training", need, megabytes, "lower microbatch")
    pretrain(Path(packed), Path(tokenizer), options, Path(output), Path(checkpoints or f"{output}.checkpoints"))
