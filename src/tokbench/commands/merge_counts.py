"""``tokbench merge_counts``: merge the counts of shards."""

import click

from tokbench.pretokenization.count import merge_counts


@click.command("merge_counts")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file of counts.")
@click.argument("parts", nargs=-1, required=True)
def command(output: str, parts: tuple[str, ...]) -> None:
    """Add up the counts in PARTS, all of the same scheme."""
    counts = merge_counts(parts)
    counts.write(output)
    click.echo(f"{len(counts):,} unique pre-tokens, {counts.total:,} in all", err=True)
