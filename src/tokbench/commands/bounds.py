"""``tokbench bound``: prove how few tokens any vocabulary of a size could need.

``tokbench check_bound``: check a proof of how few tokens any vocabulary could need.

``tokbench ngram_bits``: bits per byte of token n-gram models, without training a language model.
"""

import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokbench.commands.inputs import COUNTS, TEXT
from tokbench.commands.outputs import keys, output_file
from tokbench.commands.parameters import COUNT, SIZE, THREADS, Real, Whole, field_options, memory_option
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.runtime import exit_status

if TYPE_CHECKING:
    from tokbench.commands.parameters import Fields
    from tokbench.corpus.documents import Document
    from tokbench.optimum.bound import BoundResult


@click.command("bound")
@click.option("--counts", required=True, type=COUNTS, help="Pre-token counts of the text.")
@click.option("--size", required=True, type=SIZE, help="Tokens of the vocabulary, the 256 bytes included.")
@click.option(
    "--gap",
    type=Real(0),
    default=0.001,
    show_default=True,
    help="Stop where a vocabulary is found whose tokens exceed the bound by this share at most.",
)
@click.option("--steps", type=COUNT, default=1000, show_default=True, help="Stop after this many steps.")
@click.option("--max-token-bytes", type=Whole(2), help="Longest token: the bound says nothing of longer ones.")
@click.option(
    "--max-pretoken-bytes",
    type=Whole(1),
    default=MAX_PRETOKEN_BYTES,
    show_default=True,
    help="Longest pre-token: longer ones are left out of the text, and counted.",
)
@click.option("--threads", type=THREADS, default=1, show_default=True)
@memory_option()
@output_file(
    "--result",
    mark=keys("bound", "size", "longest", "scheme"),
    help="File of the JSON, without the time; standard output if left out.",
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
    """Prove how few tokens any vocabulary of a size could need for a text, by whatever segmentation; print JSON.

    A vocabulary is looked for that comes near it. Pre-tokenization is that of the counts: a bound says nothing of
    texts that are cut in another way. Counts that keep languages apart are bounded language by language, too. Where the
    pre-tokens are too long to look at every substring, --result tells so. Where the counts need more than --memory, a
    line says how much before anything of them is held.
    """
    from tokbench.candidates.initial import check_size
    from tokbench.io.json import write_result
    from tokbench.optimum.bound import bound_text
    from tokbench.optimum.certificate import write_certificate
    from tokbench.pretokens import PretokenCounts
    from tokbench.pretokens.files import check_stage, read_languages

    exit_status.describe_task(f"bound the tokens of {counts}", "name --max-token-bytes")
    check_size(size)
    started = time.process_time()
    check_stage("bound", counts, megabytes, longest=max_token_bytes, max_pretoken_bytes=max_pretoken_bytes)
    pretokens = PretokenCounts.read(counts)
    options: dict[str, Any] = {
        "gap": gap,
        "steps": steps,
        "longest": max_token_bytes,
        "max_pretoken_bytes": max_pretoken_bytes,
        "threads": threads,
    }

    def report(done: int, bound: float, tokens: int) -> None:
        if done % 100 == 0:
            closing = f"{tokens / bound - 1:.3%}" if bound > 0 else "open"
            click.echo(f"step {done:,}: bound {bound:,.0f}, best vocabulary {tokens:,}, gap {closing}", err=True)

    def keep(found: "BoundResult") -> None:
        if output:
            kept, _ = pretokens.split_by_length(max_pretoken_bytes)
            write_certificate(output, kept, size, max_token_bytes, max_pretoken_bytes, found.proven)

    told = bound_text(pretokens, read_languages(counts), size, must=result is None, report=report, keep=keep, **options)
    if long := told.get("left_out", {}).get("pretokens"):
        click.echo(
            f"{long:,} pre-tokens of more than {max_pretoken_bytes:,} bytes are left out, "
            f"{told['left_out']['share']:.2%} of the text",
            err=True,
        )
    if result is None:
        told["seconds"] = round(time.process_time() - started, 3)
        click.echo(json.dumps(told, indent=2))
    else:
        write_result(result, told, indent=2)


@click.command("check_bound")
@click.argument("certificate", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--counts", required=True, type=click.Path(exists=True, dir_okay=False), help="Pre-token counts of the text."
)
def check_bound_command(certificate: str, counts: str) -> None:
    """Check what 'tokbench bound -o CERTIFICATE' wrote, by a plain program that shares nothing with it; print JSON."""
    from tokbench.optimum.certificate import proves, read_certificate, read_counts

    exit_status.describe_task(f"check {certificate} on {counts}")
    try:
        text = read_counts(Path(counts))
    except (ValueError, KeyError) as error:
        raise TokbenchError(f"{counts}: no pre-token counts ({error})") from None
    try:
        claim, prices = read_certificate(Path(certificate))
        if (most := claim.get("max_pretoken_bytes")) is not None:
            text = {pretoken: count for pretoken, count in text.items() if len(pretoken) <= most}
        if missing := text.keys() - prices.keys():
            raise ValueError(f"{len(missing):,} pre-tokens of {counts} have no prices, {min(missing)!r} among them")
        found = proves(text, prices, claim["size"], claim["scale"], claim["longest"])
    except (ValueError, TypeError) as error:
        raise TokbenchError(f"{certificate}: proves nothing: {error}") from None
    if found < claim["bound"]:
        raise TokbenchError(f"{certificate}: claims {claim['bound']} tokens, but proves {found} only")
    click.echo(json.dumps({"proven": found, "claimed": claim["bound"], "size": claim["size"]}))


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
def ngram_bits_command(
    folder: str,
    training: tuple[str, ...],
    tested: tuple[str, ...],
    order: int,
    training_bytes: tuple[int, ...],
    variant: str | None,
    corpus: str,
    output: str | None,
    megabytes: int | None,
    fields: "Fields",
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
    from tokbench.commands.files import with_note
    from tokbench.intrinsic.ngram_bits import tokenizer_ngram_bits
    from tokbench.io.json import write_result
    from tokbench.models.pretraining.order import encoded
    from tokbench.runtime.memory_limit import allowance
    from tokbench.tokenizer import Tokenizer

    exit_status.describe_task(f"take the n-gram bits of {folder}")
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


def _documents(files: Sequence[str], fields: "Fields") -> Iterator["Document"]:
    from tokbench.commands.files import documents_of
    from tokbench.corpus.documents import is_shard, read_documents

    if not fields.flags and all(map(is_shard, files)):
        return read_documents(files)
    return documents_of(files, fields)
