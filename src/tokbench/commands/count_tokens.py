"""``tokbench count_tokens``: count the tokens of every document of a text."""

import click

from tokbench import memory
from tokbench.commands.inputs import TEXT
from tokbench.commands.memory_option import largest_text, memory_option

COPIES = 3
"""Copies of a document that are held: its text, as it is cut, and as ids."""


@click.command("count_tokens")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("shards", nargs=-1, required=True, type=TEXT, metavar="SHARD...")
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the text is of, for the tables.")
@click.option("--speed", type=click.Path(dir_okay=False), help="JSON file of the time that encoding took.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="JSON file.")
@memory_option()
def command(
    folder: str,
    shards: tuple[str, ...],
    variant: str | None,
    corpus: str,
    speed: str | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Count the tokens that the tokenizer in FOLDER cuts each document of some shards of a corpus into.

    Of more than 1,000 documents neighbours are counted together, in 1,000 groups. With --speed the first 2 MB of the
    text are encoded three times more, and the shortest processor time is written: it differs from run to run.
    """
    from dataclasses import asdict

    from tokbench.corpus.documents import read_documents
    from tokbench.intrinsic.tokens_by_document import timed, tokens_by_document
    from tokbench.result_files import write_result
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"count the tokens of {folder}")
    tokenizer = Tokenizer.load(folder)
    counted, texts = tokens_by_document(tokenizer, read_documents(shards, largest_text(megabytes, COPIES)))
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    if speed is not None:
        found = timed(tokenizer, texts)
        write_result(speed, head | (asdict(found) if found else {}))
    write_result(output, head | counted)
