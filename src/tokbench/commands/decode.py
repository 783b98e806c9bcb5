"""``tokbench decode``: decode ids with a tokenizer."""

import sys
from collections.abc import Iterator
from typing import BinaryIO

import click
import numpy as np
from numpy.typing import NDArray

from tokbench import memory
from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError
from tokbench.inputs.arrays import MAGIC, read_header
from tokbench.kernels.ids import from_decimals
from tokbench.tokenizer import Tokenizer

PIECE = 1 << 18
"""Ids of an array, or bytes of decimal numbers, that are decoded at once."""
LONGEST = 20
"""Bytes of a number."""


@click.command("decode")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("ids", type=click.File("rb"))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Where the bytes go; standard output if left out."
)
def command(folder: str, ids: BinaryIO, output: str | None) -> None:
    """Decode IDS ('-' for standard input), decimal numbers or a NumPy array, with the tokenizer in FOLDER."""
    memory.purpose(f"decode {ids.name}")
    tokenizer = Tokenizer.load(folder)
    texts = decoded(tokenizer, ids)
    if output is None:
        sys.stdout.buffer.writelines(texts)
        return
    with atomic_file(output) as partial, partial.open("wb") as target:
        target.writelines(texts)


def decoded(tokenizer: Tokenizer, file: BinaryIO) -> Iterator[bytes]:
    """The bytes of the ids in a file, a piece at a time.

    Raises:
        TokbenchError: the file holds no list of ids, or an id is not in the vocabulary.
    """
    for ids in _pieces(file):
        try:
            yield tokenizer.decode(ids)
        except TokbenchError as error:
            raise TokbenchError(f"{file.name}: {error}") from None


def _pieces(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """The ids of a file, a piece at a time.

    Raises:
        TokbenchError: the file is neither decimal numbers nor an array of whole numbers.
    """
    try:
        head = file.read(len(MAGIC))
        yield from _array(file) if head == MAGIC else _decimals(head, file)
    except (ValueError, KeyError, OSError):
        raise TokbenchError(f"{file.name}: not a list of ids; make one with 'tokbench encode'") from None


def _array(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Pieces of a NumPy array, from its version on; nothing is ever unpickled, and no more is held than a piece."""
    length, kind = read_header(file)
    for start in range(0, length, PIECE):
        size = min(PIECE, length - start)
        piece = np.frombuffer(file.read(size * kind.itemsize), kind)
        if len(piece) < size:
            raise ValueError("truncated")
        if start + size == length and file.read(1):
            raise ValueError("longer than it says")
        yield piece


def _decimals(rest: bytes, file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Pieces of a list of numbers that starts with ``rest``; they end where a number does."""
    while block := file.read(PIECE):
        text = rest + block
        cut = max(map(text.rfind, (b" ", b"\n", b"\r", b"\t"))) + 1
        yield from_decimals(text[:cut])
        rest = text[cut:]
        if len(rest) > LONGEST:
            raise ValueError("no number is so long")
    yield from_decimals(rest)
