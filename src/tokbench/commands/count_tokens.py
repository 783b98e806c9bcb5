"""``tokbench count_tokens``: count the tokens of every document of a text."""

import json

import click

from tokbench import memory
from tokbench.atomic import atomic_file
from tokbench.commands.inputs import TEXT
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import largest_text, memory_option
from tokbench.commands.outputs import output_file

COPIES = 3
"""Copies of a document that are held: its text, as it is cut, and as ids."""


@click.command("count_tokens")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.argument("shards", nargs=-1, required=True, type=TEXT, metavar="SHARD...")
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the text is of, for the tables.")
@output_file("--speed", mark=keys("variant", "size", "corpus"), help="JSON file of the cold encoding speed.")
@output_file(mark=keys("variant", "size", "corpus", "documents", "tokens"), required=True, help="JSON file.")
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

    Of more than 1,000 documents neighbours are counted together, in 1,000 groups. With --speed, fresh copies of
    the tokenizer encode the first 2 MB of the text. The median processor time of a first pass is written. It differs
    from run to run.
    """
    from dataclasses import asdict

    from tokbench.corpus.documents import read_documents
    from tokbench.encoding_speed import TOO_SHORT, cold_speed
    from tokbench.intrinsic.tokens_by_document import tokens_by_document
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"count the tokens of {folder}")
    tokenizer = Tokenizer.load(folder)
    counted, texts = tokens_by_document(tokenizer, read_documents(shards, largest_text(megabytes, COPIES)))
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    if speed is not None:
        found = cold_speed(tokenizer, texts)
        measured = {"reason": TOO_SHORT} if found is None else asdict(found)
        with atomic_file(speed) as partial:
            partial.write_text(json.dumps(head | measured) + "\n", encoding="utf-8")
    with atomic_file(output) as partial:
        partial.write_text(json.dumps(head | counted, ensure_ascii=False) + "\n", encoding="utf-8")
