"""``tokbench ngram_bits``: bits per byte of token n-gram models, without training a language model."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import TEXT
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import output_file
from tokbench.inputs.endings import Fields
from tokbench.inputs.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document


class Command(click.Command):
    """Takes several files after ``--train`` and ``--test``, as a shell's pattern gives them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, each_flagged(args, ("--train", "--test")))


def each_flagged(arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Arguments with a flag before each of the values that follow it, up to the next option."""
    found: list[str] = []
    flag = None
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            flag = argument if argument in flags else None
        elif flag and found[-1] != flag:
            found.append(flag)
        found.append(argument)
    return found


@click.command("ngram_bits", cls=Command)
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--train", "training", multiple=True, required=True, type=TEXT, metavar="TEXT...", help="Texts to train on."
)
@click.option("--test", "tested", multiple=True, required=True, type=TEXT, metavar="TEXT...", help="Texts to test on.")
@click.option(
    "--order",
    type=Whole(1, HIGHEST_NGRAM_ORDER),
    default=HIGHEST_NGRAM_ORDER,
    show_default=True,
    help="Highest order of the models.",
)
@click.option(
    "--training-bytes",
    type=Whole(1, LARGEST_BYTES),
    multiple=True,
    help="Bytes of text that models are trained on; may be repeated. All and half of it if left out.",
)
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the texts are of, for the tables.")
@output_file(
    mark=keys("variant", "size", "corpus", "order", "training"), help="JSON file; standard output if left out."
)
@memory_option()
@field_options
def command(
    folder: str,
    training: tuple[str, ...],
    tested: tuple[str, ...],
    order: int,
    training_bytes: tuple[int, ...],
    variant: str | None,
    corpus: str,
    output: str | None,
    megabytes: int | None,
    fields: Fields,
) -> None:
    """Train token n-gram models on the ids that the tokenizer in FOLDER gives a text, and test them on another.

    Prints as JSON, for each order up to --order and each number of --training-bytes, bits per byte of the test text
    and bits of each of its documents; the entries counted as vocabulary; and tokens never seen in training. Of a
    tokenizer that may lose some of a text, each document tells how many of its bytes do not come back.

    A TEXT is a file of text, JSON Lines or Parquet (plain or compressed; JSON Lines and Parquet are known by
    their endings). Shards of a corpus
    are read in the order of their documents and keep their numbers; the documents of other files are numbered from 0,
    those of several as one text. What does not fit into --memory is done token by token.
    """
    from tokbench.allowance import allowance
    from tokbench.commands.documents import with_note
    from tokbench.intrinsic.ngram_bits import tokenizer_ngram_bits
    from tokbench.pretraining.encoded import encoded
    from tokbench.result_files import write_result
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"take the n-gram bits of {folder}")
    tokenizer = Tokenizer.load(folder)
    allowed = None if megabytes is None else allowance(megabytes)

    def read(files: Sequence[str]) -> Iterator["Document"]:
        return _documents(files, fields)

    result = tokenizer_ngram_bits(
        tokenizer,
        partial(encoded, tokenizer),
        lambda: read(training),
        with_note(read(tested)),
        variant=variant,
        corpus=corpus,
        order=order,
        training_bytes=training_bytes or None,
        allowed=allowed,
    )
    if output is None:
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        write_result(output, result)


def _documents(files: Sequence[str], fields: Fields) -> Iterator["Document"]:
    from tokbench.commands.documents import documents_of
    from tokbench.corpus.documents import is_shard, read_documents

    if not fields.flags and all(map(is_shard, files)):
        return read_documents(files)
    return documents_of(files, fields)
