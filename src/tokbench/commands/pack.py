"""``tokbench pack``: encode a corpus into packed sequences for pretraining."""

from operator import attrgetter
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
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(folder: str, sequence_length: int, output: str, megabytes: int | None, shards: tuple[str, ...]) -> None:
    """Encode corpus SHARDS once with the tokenizer in FOLDER and cut them into sequences of equal length."""
    from tokbench.corpus.documents import read_documents
    from tokbench.pretraining.pack import COPIES, pack
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"encode {len(shards):,} shards with {folder} into sequences")
    tokenizer = Tokenizer.load(folder)
    documents = read_documents(shards, largest_text(megabytes, COPIES))
    packing = pack(tokenizer, map(attrgetter("text"), documents), Path(output), sequence_length=sequence_length)
    click.echo(packing, err=True)
