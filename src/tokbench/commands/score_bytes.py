"""``tokbench score_bytes``: score every byte of a corpus shard."""

from pathlib import Path

import click

from tokbench.byte_lm.presets import RECIPES
from tokbench.commands.log import log_to_stderr
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import check_memory, memory_option
from tokbench.commands.outputs import output_file


@click.command("score_bytes")
@click.option("--recipe", required=True, help=f"The model's preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@output_file(
    mark=columns("document", "language", "text", "surprisal", "entropy"), required=True, help="Parquet file of scores."
)
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(recipe: str, model: str, output: str, megabytes: int | None, shards: tuple[str, ...]) -> None:
    """Write surprisal and entropy of every byte of corpus SHARDS.

    Where the model needs more than --memory, a line says how much before it is read.
    """
    from tokbench.byte_lm.options import ByteNgramOptions
    from tokbench.commands.arguments import byte_lm_recipe
    from tokbench.corpus.documents import read_documents
    from tokbench.model_memory import byte_lm_scoring_memory, ngram_memory

    log_to_stderr()
    options = byte_lm_recipe(recipe)
    if isinstance(options, ByteNgramOptions):
        from tokbench.byte_lm import ngram

        check_memory(megabytes, ngram_memory(Path(model)))
        ngram.score(read_documents(shards), Path(model), Path(output))
    else:
        from tokbench.byte_lm import score
        from tokbench.byte_lm.model import on_gpu

        check_memory(megabytes, int(byte_lm_scoring_memory(options, on_gpu(options.device))))
        score.score(read_documents(shards), Path(model), Path(output), options)
