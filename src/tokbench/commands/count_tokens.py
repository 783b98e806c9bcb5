"""``tokbench count_tokens``: count the tokens of every document of a text."""

import click

from tokbench import memory
from tokbench.commands.inputs import TEXT
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import check_memory, memory_option
from tokbench.commands.outputs import output_file


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
    from tokbench.result_files import write_result
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"count the tokens of {folder}")
    tokenizer = Tokenizer.load(folder)
    check_memory(megabytes)
    counted, texts = tokens_by_document(tokenizer, read_documents(shards))
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    if speed is not None:
        found = cold_speed(tokenizer, texts)
        write_result(speed, head | ({"reason": TOO_SHORT} if found is None else asdict(found)))
    write_result(output, head | counted)
