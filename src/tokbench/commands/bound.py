"""``tokbench bound``: prove how few tokens any vocabulary of a size could need."""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from tokbench import memory
from tokbench.commands.inputs import COUNTS
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import COUNT, SIZE, THREADS, Real, Whole
from tokbench.commands.outputs import output_file
from tokbench.optimum import MAX_PRETOKEN_BYTES

if TYPE_CHECKING:
    from tokbench.optimum.search import Found


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
def command(
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
    from tokbench.counting.languages import check_stage, read_languages
    from tokbench.optimum.bounding import bound_text
    from tokbench.optimum.certificate import write_certificate
    from tokbench.pretokens import PretokenCounts
    from tokbench.result_files import write_result

    memory.purpose(f"bound the tokens of {counts}", "name --max-token-bytes")
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

    def keep(found: "Found") -> None:
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
