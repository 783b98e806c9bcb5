"""``tokbench pack``: encode a corpus into packed sequences for pretraining."""

from functools import partial
from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import check_memory, memory_option
from tokbench.commands.outputs import OutputFolder, output_file
from tokbench.commands.packing_options import packing_options, text_budget


@click.command("pack")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@packing_options
@click.option("-o", "--output", required=True, type=OutputFolder("packed sequences"), help="Folder of MDS shards.")
@output_file("--token-counts", "counts", mark=columns("id", "occurrences"), help="Parquet file for each id's count.")
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(
    folder: str,
    sequence_length: int,
    seed: int,
    second_phase: float | None,
    epochs: float | None,
    text_bytes: int | None,
    output: str,
    counts: str | None,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Encode corpus SHARDS once with the tokenizer in FOLDER and cut them into sequences of equal length.

    Documents stand in an order drawn from the seed, the same for every tokenizer. SHARDS may be the folders that
    'tokbench pack_slice' made of every slice with the same options, to be put together; the sequences are the same.
    With --second-phase the documents at the end of the order are packed apart, for a phase that reads no other.
    """
    from tokbench.corpus.documents import read_documents
    from tokbench.pretraining.encoded import encoded
    from tokbench.pretraining.order import Slices, in_order
    from tokbench.pretraining.pack import Form, is_slice, join, pack, pack_phases
    from tokbench.tokenizer import Tokenizer

    budget = text_budget(epochs, text_bytes)
    sliced = is_slice(shards[0])
    encoding = f"encode {len(shards):,} shards with {folder} into sequences"
    memory.purpose(f"put {len(shards):,} slices together" if sliced else encoding)
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    target, occurrences = Path(output), None if counts is None else Path(counts)
    if sliced:
        slices = Slices(seed, len(shards), second_phase)
        form = Form(slices, sequence_length, tokenizer.id_limit, tokenizer.end_of_text, budget)
        packed = join([Path(shard) for shard in shards], form, target, occurrences)
    else:
        text = in_order(encoded(tokenizer, read_documents(shards)), seed, target.parent)
        write = pack if second_phase is None else partial(pack_phases, second_phase=second_phase)
        found = write(
            text,
            tokenizer.id_limit,
            target,
            sequence_length=sequence_length,
            seed=seed,
            end_of_text=tokenizer.end_of_text,
            budget=budget,
            counts=occurrences,
        )
        packed = found if isinstance(found, tuple) else (found,)
    for packing in packed:
        click.echo(packing.describe(), err=True)
