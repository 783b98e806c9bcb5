"""``tokbench pack``: encode a corpus into packed sequences for pretraining."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.memory_option import largest_text, memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.inputs.numbers import LONGEST_SEQUENCE


@click.command("pack")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--sequence-length", required=True, type=Whole(1, LONGEST_SEQUENCE), help="Tokens of a sequence.")
@click.option("-o", "--output", required=True, type=OutputFolder("packed sequences"), help="Folder of MDS shards.")
@click.option("--token-counts", "counts", type=click.Path(dir_okay=False), help="Parquet file for each id's count.")
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(
    folder: str, sequence_length: int, output: str, counts: str | None, megabytes: int | None, shards: tuple[str, ...]
) -> None:
    """Encode corpus SHARDS once with the tokenizer in FOLDER and cut them into sequences of equal length.

    SHARDS may be what 'tokbench encode_shard' made of them; the sequences are the same.
    """
    from tokbench.corpus.documents import read_documents
    from tokbench.pretraining.encoded import COPIES, encoded, is_encoded, read_encoded
    from tokbench.pretraining.pack import pack
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"encode {len(shards):,} shards with {folder} into sequences")
    tokenizer = Tokenizer.load(folder)
    if is_encoded(shards[0]):
        pieces = read_encoded(shards)
    else:
        pieces = encoded(tokenizer, read_documents(shards, largest_text(megabytes, COPIES)))
    packing = pack(
        pieces,
        len(tokenizer),
        Path(output),
        sequence_length=sequence_length,
        counts=None if counts is None else Path(counts),
    )
    click.echo(packing, err=True)
