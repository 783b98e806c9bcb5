"""``tokbench pack_slice``: pack a slice of a large corpus."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.allowance import allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.commands.packing_options import packing_options, text_budget


@click.command("pack_slice")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("tokens", type=click.Path(exists=True, file_okay=False))
@click.option("--slice", "number", required=True, type=Whole(0, 9998), help="Number of the slice, from 0.")
@packing_options
@click.option("-o", "--output", required=True, type=OutputFolder("slice"), help="Folder of the slice's sequences.")
@memory_option()
def command(
    folder: str,
    tokens: str,
    number: int,
    sequence_length: int,
    seed: int,
    second_phase: float | None,
    epochs: float | None,
    text_bytes: int | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Pack one slice of the TOKENS that 'tokbench gather_tokens' brought together, by the tokenizer in FOLDER.

    'tokbench pack' puts the slices together. Give it the same options.
    """
    from tokbench.errors import TokbenchError
    from tokbench.pretraining.pack import Form
    from tokbench.pretraining.sliced import pack_slice, read_contents
    from tokbench.tokenizer import Tokenizer

    if megabytes is not None:
        allowance(megabytes)
    memory.purpose(f"pack slice {number} of {tokens}")
    slices = read_contents(Path(tokens)).slices
    if (slices.seed, slices.second_phase) != (seed, second_phase):
        told = f"in the order of seed {slices.seed} and a second phase of {slices.second_phase}"
        raise TokbenchError(f"{tokens}: {told}; name these, or encode the shards again")
    tokenizer = Tokenizer.load(folder)
    budget = text_budget(epochs, text_bytes)
    form = Form(slices, sequence_length, tokenizer.id_limit, tokenizer.end_of_text, budget)
    packed = pack_slice(Path(tokens), number, form, Path(output))
    click.echo(f"{packed.read.documents:,} documents, {packed.read.tokens:,} tokens", err=True)
