"""``tokbench encode``: encode a file with a tokenizer."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tokbench import memory
from tokbench.atomic import atomic_file
from tokbench.commands.memory_option import largest_text, memory_option
from tokbench.commands.numbers import THREADS
from tokbench.commands.outputs import output_file
from tokbench.commands.reading import Reading, reading_options
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from tokbench.allowance import Largest
    from tokbench.tokenizer import Tokenizer

PIECE_BYTES = 1 << 22
"""Text held in memory for each thread."""
COPIES = 8
"""Bytes held for each of a piece: its own, those it is joined from, and its ids."""


@click.command("encode")
@click.argument("path", metavar="TOKENIZER", type=click.Path(exists=True))
@click.argument("file", type=click.File("rb"))
@output_file(help="Where the ids go; .npy for a NumPy array.")
@click.option("--count", is_flag=True, help="Print the number of tokens alone.")
@click.option("--threads", type=THREADS, default=1, show_default=True)
@memory_option()
@reading_options
def command(
    path: str,
    file: BinaryIO,
    output: str | None,
    count: bool,
    threads: int,
    megabytes: int | None,
    reading: Reading,
) -> None:
    """Encode FILE ('-' for standard input) with TOKENIZER, a folder or what 'tokbench import' takes; ids are decimal
    numbers between spaces."""
    from tokbench.commands.id_files import write_array, write_decimals
    from tokbench.commands.opened import opened

    if count and output is not None:
        raise TokbenchError("--count, --output: the number alone is printed, and no ids are written; leave one out")
    memory.purpose(f"encode {file.name}", "use fewer --threads" if threads > 1 else "")
    tokenizer = opened(path, reading)
    largest = largest_text(megabytes, COPIES)
    size = PIECE_BYTES * threads if largest is None else min(PIECE_BYTES * threads, largest.size)
    pieces = _pieces(file, tokenizer, size, largest)
    if count:
        click.echo(sum(tokenizer.count(piece, threads) for piece in pieces))
        return
    encoded = (tokenizer.encode(piece, threads) for piece in pieces)
    if output is None:
        write_decimals(encoded, sys.stdout.buffer)
        return
    write = write_array if Path(output).suffix == ".npy" else write_decimals
    with atomic_file(output) as partial, partial.open("wb") as target:
        write(encoded, target)


def _pieces(file: BinaryIO, tokenizer: "Tokenizer", size: int, largest: "Largest | None") -> Iterator[bytes]:
    """A text in pieces of about ``size`` bytes whose ids, one after another, are those of the whole."""
    waiting: list[bytes] = []
    held = 0
    while block := file.read(size):
        cut = tokenizer.last_cut(block)
        if cut:
            yield b"".join([*waiting, block[:cut]])
            waiting, held = [], 0
        waiting.append(block[cut:])
        held += len(block) - cut
        if largest is not None:
            largest.check(f"{file.name}, which this tokenizer cannot cut", held, more=True)
    yield b"".join(waiting)
