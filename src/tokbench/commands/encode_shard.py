"""``tokbench encode_shard``: encode one shard of a corpus that is packed together with others."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.memory_option import largest_text, memory_option
from tokbench.commands.numbers import Whole
from tokbench.inputs.numbers import LARGEST_LEGACY_SEED
from tokbench.pretraining.presets import SEED


@click.command("encode_shard")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("shard", type=click.Path(exists=True, dir_okay=False))
@click.option("--seed", default=SEED, show_default=True, type=Whole(0, LARGEST_LEGACY_SEED), help="Draws the order.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file of the tokens.")
@memory_option()
def command(folder: str, shard: str, seed: int, output: str, megabytes: int | None) -> None:
    """Encode corpus SHARD with the tokenizer in FOLDER, for 'tokbench pack' to join with other shards.

    Documents stand in the order that the seed draws for the whole corpus.
    """
    from tokbench.corpus.documents import read_shard
    from tokbench.pretraining.encoded import COPIES, encoded, write_encoded
    from tokbench.pretraining.order import in_order
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"encode {shard} with {folder}")
    tokenizer = Tokenizer.load(folder)
    documents = read_shard(shard, largest=largest_text(megabytes, COPIES))
    write_encoded(in_order(encoded(tokenizer, documents), seed, Path(output).parent).pieces, Path(output))
