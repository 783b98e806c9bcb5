"""``tokbench train_byte_lm``: train a byte-level language model."""

from pathlib import Path

import click

from tokbench.byte_lm.presets import RECIPES
from tokbench.commands.log import log_to_stderr
from tokbench.commands.outputs import OutputFolder


@click.command("train_byte_lm")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder for resuming; beside the output if left out."
)
@click.option("-o", "--output", required=True, type=OutputFolder("byte language model"), help="Folder of the model.")
@click.argument("shards", nargs=-1, required=True)
def command(recipe: str, checkpoints: str | None, output: str, shards: tuple[str, ...]) -> None:
    """Train a byte-level language model on corpus SHARDS; a run that was stopped goes on from its checkpoint."""
    from tokbench.byte_lm.options import ByteNgramOptions
    from tokbench.commands.arguments import byte_lm_recipe
    from tokbench.corpus.documents import read_documents

    log_to_stderr()
    options = byte_lm_recipe(recipe)
    texts = (document.text for document in read_documents(shards))
    if isinstance(options, ByteNgramOptions):
        from tokbench.byte_lm import ngram

        ngram.train(texts, options, Path(output))
    else:
        from tokbench.byte_lm import train

        train.train(texts, options, Path(output), Path(checkpoints or f"{output}.checkpoints"))
