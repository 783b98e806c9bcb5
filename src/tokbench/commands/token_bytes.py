"""Command that writes the bytes of each id."""

from typing import TYPE_CHECKING

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import TokenizerPath
from tokbench.commands.outputs import output_file
from tokbench.commands.parameters import reading_options
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.runtime import exit_status

if TYPE_CHECKING:
    from tokbench.adapters.open import ImportOptions


@command("bytes", "write the number of bytes of each id", group="extras", place=12)
@click.argument("path", metavar="TOKENIZER", type=TokenizerPath())
@output_file(required=True, help="NumPy file of the array, int32 [ids].")
@reading_options
def bytes_command(path: str, output: str, reading: "ImportOptions") -> None:
    """Write the number of bytes that each id of TOKENIZER adds to a text, for bits per byte in other programs. Special
    ids, unused ids and the unknown token have 0.

    Standard error lists where the sum over a text's ids is not the number of its bytes.
    """
    from tokbench.adapters.open import open_tokenizer
    from tokbench.io.id_files import write_array
    from tokbench.tokenizer.token_bytes import notes_on_bytes, token_bytes

    if not output.lower().endswith(".npy"):
        raise TokbenchError(f"--output {output}: a NumPy file is written; end its name with .npy")
    exit_status.describe_task(f"count the bytes of the ids of {path}")
    tokenizer = open_tokenizer(path, reading)
    counts = token_bytes(tokenizer)
    with atomic_file(output) as partial, partial.open("wb") as target:
        write_array([counts], target)
    for note in notes_on_bytes(tokenizer, counts):
        click.echo(f"{path}: {note}", err=True)
