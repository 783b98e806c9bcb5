"""``tokbench decode``: decode ids with a tokenizer."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from tokbench import memory
from tokbench.atomic import atomic_file
from tokbench.commands.inputs import InputFile
from tokbench.commands.outputs import output_file
from tokbench.commands.reading import Reading, reading_options
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer


@click.command("decode")
@click.argument("path", metavar="TOKENIZER", type=click.Path(exists=True))
@click.argument("ids", type=InputFile())
@output_file(help="Where the bytes go; standard output if left out.")
@reading_options
def command(path: str, ids: BinaryIO, output: str | None, reading: Reading) -> None:
    """Decode IDS ('-' for standard input), decimal numbers or a NumPy array, with TOKENIZER, a folder or what 'tokbench
    import' takes."""
    from tokbench.commands.opened import opened

    memory.purpose(f"decode {ids.name}")
    tokenizer = opened(path, reading)
    texts = decoded(tokenizer, ids)
    if output is None:
        sys.stdout.buffer.writelines(texts)
        return
    with atomic_file(output) as partial, partial.open("wb") as target:
        target.writelines(texts)


def decoded(tokenizer: "Tokenizer", file: BinaryIO) -> Iterator[bytes]:
    """The bytes of the ids in a file, a piece at a time, or at once where another library decodes.

    Raises:
        TokbenchError: the file holds no list of ids, or an id is not in the vocabulary.
    """
    import numpy as np

    from tokbench.commands.id_files import read_ids

    pieces = read_ids(file)
    if tokenizer.library_name:  # What an id decodes to depends on the ids before it.
        pieces = iter([np.concatenate(all_pieces)] if (all_pieces := list(pieces)) else [])
    for ids in pieces:
        try:
            yield tokenizer.decode(ids)
        except TokbenchError as error:
            raise TokbenchError(f"{file.name}: {error}") from None
