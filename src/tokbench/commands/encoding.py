"""Commands that encode files and decode ids."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import InputFile, TokenizerPath
from tokbench.commands.outputs import output_file
from tokbench.commands.parameters import THREADS, EncodingName, memory_option, reading_options
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.runtime import exit_status
from tokbench.runtime.progress import clear, progress

if TYPE_CHECKING:
    from tokbench.adapters.open import ImportOptions
    from tokbench.io.encodings import Notes
    from tokbench.tokenizer import Tokenizer


PIECE_BYTES = 1 << 22
"""Bytes of text in memory by thread."""
PER_BYTE = 8
"""Bytes of memory by byte of a piece: the piece, the blocks that it is joined from, and its ids."""


@command(
    "encode",
    "encode a file with a tokenizer",
    group="essentials",
    place=40,
    example="tokbench encode mine.json text.txt --count",
)
@click.argument("path", metavar="TOKENIZER", type=TokenizerPath())
@click.argument("file", type=InputFile("text", pipes=True))
@output_file(help="File of the ids; .npy for a NumPy array. Default: standard output.")
@click.option("--count", is_flag=True, help="Print only the number of tokens.")
@click.option("--threads", type=THREADS, default=1, show_default=True)
@click.option("--encoding", type=EncodingName(), default="bytes", show_default=True, help="Encoding of FILE.")
@memory_option()
@reading_options
def encode_command(
    path: str,
    file: BinaryIO,
    output: str | None,
    count: bool,
    threads: int,
    encoding: str,
    megabytes: int | None,
    reading: "ImportOptions",
) -> None:
    """Encode FILE ('-' for standard input) with TOKENIZER, our folder or an external tokenizer file. Print decimal ids,
    separated by spaces.

    A compressed file is decompressed. By default its bytes are encoded unchanged, so that 'tokbench decode' restores
    them. Bytes that are not UTF-8 are reported on standard error.
    """
    from tokbench.adapters.open import open_tokenizer
    from tokbench.io.encodings import Notes
    from tokbench.io.id_files import write_array, write_decimals
    from tokbench.runtime.memory_limit import allowance

    if count and output is not None:
        raise TokbenchError("--count, --output: the number alone is printed, and no ids are written; leave one out")
    exit_status.describe_task(f"encode {file.name}", "use fewer --threads" if threads > 1 else "")
    tokenizer = open_tokenizer(path, reading)
    # The text is read in pieces that fit into memory.
    size = PIECE_BYTES * threads
    if megabytes is not None:
        size = min(size, allowance(megabytes).room // PER_BYTE)
    notes = Notes()
    pieces = _pieces(_blocks(file, encoding, size, notes), tokenizer)
    encoded = (tokenizer.encode(piece, threads) for piece in pieces)
    # The number of tokens, or the ids as text or as an array.
    if count:
        with progress("encode"):
            tokens = sum(tokenizer.count(piece, threads) for piece in pieces)
        click.echo(tokens)
    elif output is None:
        write_decimals(encoded, sys.stdout.buffer)
    else:
        write = write_array if Path(output).suffix.lower() == ".npy" else write_decimals
        with progress("encode"), atomic_file(output) as partial, partial.open("wb") as target:
            write(encoded, target)
    for line in notes.lines().values():
        click.echo(f"{file.name}: {line}", err=True)


def _blocks(file: BinaryIO, encoding: str, size: int, notes: "Notes") -> Iterator[bytes]:
    """Yield a text ``size`` bytes at a time, decompressed and in UTF-8."""
    from tokbench.io.compression import HEAD, compression_of, decompressed
    from tokbench.io.encodings import as_utf8
    from tokbench.io.text_files import failures

    with failures(file.name, "fetch or make the file again"):
        source: io.BufferedReader = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)  # type: ignore
        head = source.peek(HEAD)[:HEAD]
        if compression := compression_of(head):
            source = decompressed(source, compression)
            clear()
            click.echo(f"{file.name}: decompressed ({compression}); its content is encoded", err=True)
        text = as_utf8(source, file.name, encoding, notes)
    while True:
        with failures(file.name, "fetch or make the file again"):
            block = text.read(size)
        if not block:
            return
        yield block


def _pieces(blocks: Iterator[bytes], tokenizer: "Tokenizer") -> Iterator[bytes]:
    """Split a text into pieces of about a block; their concatenated ids are the ids of the text."""
    waiting: list[bytes] = []
    for block in blocks:
        cut = tokenizer.last_cut(block)
        if cut:
            yield b"".join([*waiting, block[:cut]])
            waiting = []
        waiting.append(block[cut:])
    yield b"".join(waiting)


@command("decode", "decode ids with a tokenizer", group="extras", place=10)
@click.argument("path", metavar="TOKENIZER", type=TokenizerPath())
@click.argument("ids", type=InputFile("file of ids"))
@output_file(help="File of the text; default: standard output.")
@reading_options
def decode_command(path: str, ids: BinaryIO, output: str | None, reading: "ImportOptions") -> None:
    """Decode IDS ('-' for standard input), decimal numbers or a NumPy array, with TOKENIZER, our folder or an external
    tokenizer file.
    """
    from tokbench.adapters.open import open_tokenizer

    exit_status.describe_task(f"decode {ids.name}")
    tokenizer = open_tokenizer(path, reading)
    texts = decoded(tokenizer, ids)
    if output is None:
        sys.stdout.buffer.writelines(texts)
        return
    with atomic_file(output) as partial, partial.open("wb") as target:
        target.writelines(texts)


def decoded(tokenizer: "Tokenizer", file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of the ids in a file, a piece at a time, or all at once if another library decodes.

    Raises:
        TokbenchError: the file is not a list of ids, or an id is not in the vocabulary.
    """
    import numpy as np

    from tokbench.io.id_files import read_ids

    pieces = read_ids(file)
    if tokenizer.library_name:  # There, an id may decode differently after other ids.
        pieces = iter([np.concatenate(all_pieces)] if (all_pieces := list(pieces)) else [])
    for ids in pieces:
        try:
            yield tokenizer.decode(ids)
        except TokbenchError as error:
            raise TokbenchError(f"{file.name}: {error}") from None
