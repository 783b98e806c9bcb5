"""``tokbench encode_shard``: encode one shard of a corpus that is packed together with others."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.memory_option import largest_text, memory_option


@click.command("encode_shard")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("shard", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file of the tokens.")
@memory_option()
def command(folder: str, shard: str, output: str, megabytes: int | None) -> None:
    """Encode corpus SHARD with the tokenizer in FOLDER, for 'tokbench pack' to join with other shards."""
    from tokbench.corpus.documents import read_shard
    from tokbench.pretraining.encoded import COPIES, encoded, write_encoded
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"encode {shard} with {folder}")
    tokenizer = Tokenizer.load(folder)
    documents = read_shard(shard, largest=largest_text(megabytes, COPIES))
    write_encoded(encoded(tokenizer, documents), Path(output))
