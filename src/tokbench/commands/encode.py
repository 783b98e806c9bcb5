"""``tokbench encode``: encode a file with a tokenizer."""

from pathlib import Path
from typing import BinaryIO

import click
import numpy as np

from tokbench.tokenizer import Tokenizer
from tokbench.whole import whole_file


@click.command("encode")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("file", type=click.File("rb"))
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where the ids go; .npy for a NumPy array.")
@click.option("--count", is_flag=True, help="Print the number of tokens alone.")
def command(folder: str, file: BinaryIO, output: str | None, count: bool) -> None:
    """Encode FILE ('-' for standard input) with the tokenizer in FOLDER; ids are decimal numbers between spaces."""
    ids = Tokenizer.load(folder).encode(file.read())
    if count:
        click.echo(len(ids))
        return
    if output is None:
        click.echo(" ".join(map(str, ids.tolist())))
        return
    with whole_file(output) as partial:
        if Path(output).suffix == ".npy":
            with partial.open("wb") as target:
                np.save(target, ids)
        else:
            partial.write_text(" ".join(map(str, ids.tolist())) + "\n", encoding="ascii")
