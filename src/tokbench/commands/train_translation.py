"""``tokbench train_translation``: train a translation model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.memory_option import memory_option
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
@memory_option()
def command(
    recipe: str,
    corpus: str,
    source: str,
    target: str,
    source_tokenizer: str,
    target_tokenizer: str | None,
    checkpoints: str | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Train a transformer on pairs of sentences; a run that was stopped goes on from its checkpoint.

    Where the model and the pairs need more than --memory, a line says how much before either is held.
    """
    from tokbench.commands.arguments import recipe_options
    from tokbench.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    tokenizers = Path(source_tokenizer), Path(target_tokenizer or source_tokenizer)
    if megabytes is not None:
        from tokbench.allowance import require
        from tokbench.commands.devices import on_gpu
        from tokbench.model_memory import pairs_memory, translation_training_memory
        from tokbench.tokenizer import Tokenizer

        ids = [Tokenizer.load(folder).id_limit for folder in tokenizers]
        joint = tokenizers[0].resolve() == tokenizers[1].resolve()
        splits = [Path(corpus, name) for name in ("train.parquet", "dev.parquet")]
        need = translation_training_memory(options, *ids, joint=joint, on_gpu=on_gpu(options.device))
        need += sum(pairs_memory(split) for split in splits if split.is_file())
        require("this training", need, megabytes, "lower batch_tokens")
    from tokbench.translation.train import train

    train(
        Path(corpus), (source, target), tokenizers, options, Path(output), Path(checkpoints or f"{output}.checkpoints")
    )
