"""``tokbench pack``: encode a corpus into packed sequences for pretraining."""

from functools import partial
from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.memory_option import largest_text, memory_option
from tokbench.commands.numbers import Real, Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED, LONGEST_SEQUENCE
from tokbench.pretraining.presets import SEED

LEAST_EPOCHS = 1e-12
LEAST_PHASE = 1e-12


@click.command("pack")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--sequence-length", required=True, type=Whole(1, LONGEST_SEQUENCE), help="Tokens of a sequence.")
@click.option("--seed", default=SEED, show_default=True, type=Whole(0, LARGEST_LEGACY_SEED), help="Draws the order.")
@click.option("--epochs", type=Real(LEAST_EPOCHS), help="Pack for a training of so many passes over the text.")
@click.option("--text-bytes", type=Whole(1, LARGEST_BYTES), help="Pack for a training on so many bytes of text.")
@click.option(
    "--second-phase", type=Real(LEAST_PHASE), help="Pack for two phases, the second so large a part of the first."
)
@click.option("-o", "--output", required=True, type=OutputFolder("packed sequences"), help="Folder of MDS shards.")
@click.option("--token-counts", "counts", type=click.Path(dir_okay=False), help="Parquet file for each id's count.")
@memory_option()
@click.argument("shards", nargs=-1, required=True)
def command(
    folder: str,
    sequence_length: int,
    seed: int,
    epochs: float | None,
    text_bytes: int | None,
    second_phase: float | None,
    output: str,
    counts: str | None,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Encode corpus SHARDS once with the tokenizer in FOLDER and cut them into sequences of equal length.

    Documents stand in an order drawn from the seed, the same for every tokenizer. SHARDS may be what 'tokbench
    encode_shard' made of them with that seed; the sequences are the same. With --second-phase the documents at the end
    of the order are packed apart, for a phase that reads no other.
    """
    from tokbench.corpus.documents import read_documents
    from tokbench.pretraining.budget import TextBudget
    from tokbench.pretraining.encoded import COPIES, encoded, is_encoded
    from tokbench.pretraining.order import in_order, merged
    from tokbench.pretraining.pack import pack
    from tokbench.pretraining.phases import pack_phases
    from tokbench.tokenizer import Tokenizer

    if epochs is not None and text_bytes is not None:
        raise TokbenchError("--epochs and --text-bytes are two budgets; give one")
    memory.purpose(f"encode {len(shards):,} shards with {folder} into sequences")
    tokenizer = Tokenizer.load(folder)
    if is_encoded(shards[0]):
        text = merged(shards, seed)
    else:
        documents = read_documents(shards, largest_text(megabytes, COPIES))
        text = in_order(encoded(tokenizer, documents), seed, Path(output).parent)
    write = pack if second_phase is None else partial(pack_phases, second_phase=second_phase)
    packed = write(
        text,
        tokenizer.id_limit,
        Path(output),
        sequence_length=sequence_length,
        seed=seed,
        end_of_text=tokenizer.end_of_text,
        budget=None if epochs is text_bytes is None else TextBudget(epochs, text_bytes),
        counts=None if counts is None else Path(counts),
    )
    for packing in packed if isinstance(packed, tuple) else (packed,):
        click.echo(packing.told(), err=True)
