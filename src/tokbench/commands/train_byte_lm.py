"""``tokbench train_byte_lm``: train a byte-level language model."""

from pathlib import Path

import click

from tokbench.byte_lm.presets import RECIPES
from tokbench.commands.log import log_to_stderr
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("train_byte_lm")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder for resuming; beside the output if left out."
)
@click.option("-o", "--output", required=True, type=OutputFolder("byte language model"), help="Folder of the model.")
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(recipe: str, checkpoints: str | None, output: str, megabytes: int | None, shards: tuple[str, ...]) -> None:
    """Train a byte-level language model on corpus SHARDS; a run that was stopped goes on from its checkpoint.

    Where the n-grams of a model that counts them take more than --memory, they are sorted on disk, beside the output.
    Where a neural model needs more, a line says how much before anything is read.
    """
    from tokbench.allowance import allowance
    from tokbench.byte_lm.options import ByteNgramOptions
    from tokbench.commands.arguments import byte_lm_recipe
    from tokbench.corpus.documents import read_documents

    log_to_stderr()
    options = byte_lm_recipe(recipe)
    if isinstance(options, ByteNgramOptions):
        from tokbench.byte_lm import ngram, windows

        allowed = None if megabytes is None else allowance(megabytes, windows.LEAST)
        room = None if allowed is None else allowed.room // 2
        ngram.train((document.text for document in read_documents(shards)), options, Path(output), room)
    else:
        from tokbench.byte_lm import train
        from tokbench.byte_lm.model import on_gpu
        from tokbench.model_memory import byte_lm_training_memory

        if megabytes is not None:
            allowance(megabytes, int(byte_lm_training_memory(options, on_gpu(options.device))))
        texts = (document.text for document in read_documents(shards))
        train.train(texts, options, Path(output), Path(checkpoints or f"{output}.checkpoints"))
