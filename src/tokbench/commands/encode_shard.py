"""``tokbench encode_shard``: encode one shard of a corpus that is packed together with others."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import check_memory, memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import output_file
from tokbench.commands.packing_options import order_options


@click.command("encode_shard")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("shard", type=click.Path(exists=True, dir_okay=False))
@order_options
@click.option("--slices", "number", default=1, show_default=True, type=Whole(1, 9999), help="Slices to be packed.")
@output_file(mark=columns("document", "ends", "text_bytes", "ids"), required=True, help="Parquet file of the tokens.")
@memory_option()
def command(
    folder: str,
    shard: str,
    seed: int,
    second_phase: float | None,
    number: int,
    output: str,
    megabytes: int | None,
) -> None:
    """Encode corpus SHARD with the tokenizer in FOLDER, to be packed together with other shards.

    Documents stand in the order that the seed draws for the whole corpus, which is cut into slices. Give all shards the
    same seed, slices and second phase, then 'tokbench gather_tokens' and 'tokbench pack_slice' for each slice.
    """
    from tokbench.corpus.documents import read_shard
    from tokbench.pretraining.encoded import encoded
    from tokbench.pretraining.order import Slices, in_order
    from tokbench.pretraining.sliced import write_tokens
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"encode {shard} with {folder}")
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    pieces = in_order(encoded(tokenizer, read_shard(shard)), seed, Path(output).parent).pieces
    write_tokens(pieces, Slices(seed, number, second_phase), Path(output))
