"""``tokbench published``: recompute what the papers print."""

from collections import Counter

import click

from tokbench.published.write import write_published


@click.command("published")
@click.option(
    "--released",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the vocabularies that the authors of 'Tokenization Is More Than Compression' released.",
)
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of tables and figures.")
def command(released: str | None, output: str) -> None:
    """Recompute every statistic and figure of the papers from the numbers they print, each beside theirs."""
    statistics = write_published(output, released)
    for verdict, count in Counter(statistic.verdict for statistic in statistics).items():
        click.echo(f"{verdict}: {count:,}", err=True)
