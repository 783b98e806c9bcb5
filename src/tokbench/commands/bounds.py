"""Commands for lower bounds on token counts, and for bits per byte of token n-gram models."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import COUNTS, TEXT, ContentPath, TokenizerPath
from tokbench.commands.outputs import keys, output_file
from tokbench.commands.parameters import (
    COUNT,
    SIZE,
    THREADS,
    Real,
    Whole,
    field_options,
    memory_option,
    reading_options,
)
from tokbench.io.compression import Fields
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.runtime import exit_status
from tokbench.runtime.progress import note, progress

if TYPE_CHECKING:
    from tokbench.adapters.open import ImportOptions
    from tokbench.commands.parameters import Fields


@command("bound", "prove a lower bound on the token count of any vocabulary", group="stages", place=180)
@click.option("--counts", required=True, type=COUNTS, help="Pre-token counts of the text.")
@click.option("--size", required=True, type=SIZE, help="Vocabulary size, including the 256 bytes.")
@click.option(
    "--gap",
    type=Real(0),
    default=0.001,
    show_default=True,
    help="Stop when a vocabulary exceeds the bound by at most this fraction.",
)
@click.option("--steps", type=COUNT, default=1000, show_default=True, help="Stop after this many steps.")
@click.option("--max-token-bytes", type=Whole(2), help="Longest token that the bound covers, in bytes.")
@click.option(
    "--max-pretoken-bytes",
    type=Whole(1),
    default=MAX_PRETOKEN_BYTES,
    show_default=True,
    help="Longest pre-token in bytes; longer ones are left out and counted.",
)
@click.option("--threads", type=THREADS, default=1, show_default=True)
@memory_option()
@output_file(
    "--result",
    mark=keys("bound", "size", "longest", "scheme"),
    help="JSON file, without times; default: standard output.",
)
@output_file(mark=keys("size", "longest", "scale", "bound"), help="Certificate, for 'tokbench check_bound'.")
def bound_command(
    counts: str,
    size: int,
    gap: float,
    steps: int,
    max_token_bytes: int | None,
    max_pretoken_bytes: int,
    threads: int,
    megabytes: int | None,
    result: str | None,
    output: str | None,
) -> None:
    """Prove a lower bound on the tokens that any vocabulary of a size needs for a text; print JSON.

    It also searches for a vocabulary close to the bound. The bound is valid for the pre-tokenizer of the counts and for
    any segmentation. Counts with languages give one bound for all and one for each language. If pre-tokens are too long
    to consider every substring, the result says so. If it needs more than --memory, it stops with one line before it
    starts.
    """
    from tokbench.io.json import write_result
    from tokbench.optimum.bound import line_of_left_out
    from tokbench.optimum.files import bound_file

    exit_status.describe_task(f"bound the tokens of {counts}", "name --max-token-bytes")
    started = time.process_time()

    def report(done: int, bound: float, tokens: int) -> None:
        if done % 100 == 0:
            closing = f"{tokens / bound - 1:.3%}" if bound > 0 else "open"
            note(f"step {done:,}: bound {bound:,.0f}, best vocabulary {tokens:,}, gap {closing}")

    # Progress every hundred steps.
    with progress("bound"):
        bounds = bound_file(
            counts,
            size,
            gap=gap,
            steps=steps,
            longest=max_token_bytes,
            max_pretoken_bytes=max_pretoken_bytes,
            threads=threads,
            megabytes=megabytes,
            must=result is None,
            certificate=output,
            report=report,
        )
    if long := bounds.get("left_out", {}).get("pretokens"):
        click.echo(line_of_left_out(long, bounds["left_out"]["share"], max_pretoken_bytes), err=True)
    # Printed with the time, or written without it, as files must not depend on it.
    if result is None:
        bounds["seconds"] = round(time.process_time() - started, 3)
        click.echo(json.dumps(bounds, indent=2))
    else:
        write_result(result, bounds, indent=2)


@command("check_bound", "verify the proof of a lower bound", group="extras", place=30)
@click.argument("certificate", type=ContentPath("certificate"))
@click.option(
    "--counts", required=True, type=click.Path(exists=True, dir_okay=False), help="Pre-token counts of the text."
)
def check_bound_command(certificate: str, counts: str) -> None:
    """Verify a proof that 'tokbench bound -o CERTIFICATE' wrote; print JSON. The verifier is a separate, simple
    program.
    """
    from tokbench.optimum.certificate import check_certificate

    exit_status.describe_task(f"check {certificate} on {counts}")
    claim, proven = check_certificate(Path(certificate), Path(counts))
    click.echo(json.dumps({"proven": proven, "claimed": claim["bound"], "size": claim["size"]}))


class Command(click.Command):
    """Command that accepts several files after ``--train`` and ``--test``, as a shell's pattern expands them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, each_flagged(args, ("--train", "--test")))


def each_flagged(arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return arguments with a flag repeated before each of its values, up to the next option."""
    words: list[str] = []
    flag = None
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            flag = argument if argument in flags else None
        elif flag and words[-1] != flag:
            words.append(flag)
        words.append(argument)
    return words


@command("ngram_bits", "measure bits per byte of token n-gram models", group="stages", place=190, cls=Command)
@click.argument("path", metavar="TOKENIZER", type=TokenizerPath())
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
    help="Bytes of training text; may be repeated. Default: all and half.",
)
@click.option("--variant", help="Name in the tables; default: that of the tokenizer.")
@click.option("--corpus", default="", help="Name of the corpus in the tables.")
@output_file(mark=keys("variant", "size", "corpus", "order", "training"), help="JSON file; default: standard output.")
@memory_option()
@field_options
@reading_options
def ngram_bits_command(
    path: str,
    training: tuple[str, ...],
    tested: tuple[str, ...],
    order: int,
    training_bytes: tuple[int, ...],
    variant: str | None,
    corpus: str,
    output: str | None,
    megabytes: int | None,
    fields: "Fields",
    reading: "ImportOptions",
) -> None:
    """Train token n-gram models on one text and test them on another, with TOKENIZER; print JSON.

    TOKENIZER is our folder, or an external tokenizer file or folder.

    The JSON has, for each order and each number of --training-bytes: bits per byte of the test text, bits of each
    document, the number of vocabulary entries, and tokens never seen in training. If a tokenizer is lossy, it also has
    the bytes that each document loses.

    Texts are files of any corpus format, see 'tokbench methods'. Format by file ending or first bytes; default: plain
    text.
    Documents of corpus shards keep their order and numbers. Documents of other files are numbered from 0, several files
    as one text. Models that do not fit into --memory are evaluated token by token.
    """
    from tokbench.adapters.open import open_tokenizer
    from tokbench.intrinsic.files import measure_ngram_bits
    from tokbench.io.json import write_result

    exit_status.describe_task(f"take the n-gram bits of {path}")
    tokenizer = open_tokenizer(path, reading)
    with progress("ngram_bits"):
        result = measure_ngram_bits(
            tokenizer,
            training,
            tested,
            fields,
            variant=variant,
            corpus=corpus,
            order=order,
            training_bytes=training_bytes or None,
            megabytes=megabytes,
        )
    if output is None:
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        write_result(output, result)
