"""``tokbench merge_counts``: merge the counts of shards."""

import click

from tokbench import memory
from tokbench.commands.marks import COUNTS
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file


@click.command("merge_counts")
@output_file(mark=COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@click.argument("parts", nargs=-1, required=True)
def command(output: str, megabytes: int | None, parts: tuple[str, ...]) -> None:
    """Add up the counts in PARTS, all of the same pre-tokenization, each language by itself.

    Where the counts would take more than --memory, they are sorted on disk, beside the output.
    """
    from tokbench.counting.external_count import Bound, merge_within

    memory.purpose(f"merge {len(parts):,} files of counts")
    totals = merge_within(parts, output, Bound(megabytes))
    click.echo(f"{len(totals):,} unique pre-tokens, {totals.total:,} in all", err=True)
