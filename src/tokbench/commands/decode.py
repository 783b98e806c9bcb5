"""``tokbench decode``: decode ids with a tokenizer."""

import io
import sys
from typing import BinaryIO

import click
import numpy as np
from numpy.typing import NDArray

from tokbench.registry import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.whole import whole_file


@click.command("decode")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("ids", type=click.File("rb"))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Where the bytes go; standard output if left out."
)
def command(folder: str, ids: BinaryIO, output: str | None) -> None:
    """Decode IDS ('-' for standard input), decimal numbers or a NumPy array, with the tokenizer in FOLDER."""
    text = Tokenizer.load(folder).decode(_ids(ids.read(), str(ids.name)))
    if output is None:
        sys.stdout.buffer.write(text)
        return
    with whole_file(output) as partial:
        partial.write_bytes(text)


def _ids(data: bytes, name: str) -> NDArray[np.int64]:
    try:
        if not data.startswith(b"\x93NUMPY"):
            return np.array(data.split(), dtype=np.int64)
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        return loaded.astype(np.int64, casting="same_kind")
    except (ValueError, OverflowError, EOFError, TypeError):
        raise TokbenchError(f"{name}: not a list of ids; make one with 'tokbench encode'") from None
