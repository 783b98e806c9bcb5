"""``tokbench published``: recompute what the papers print."""

from collections import Counter
from dataclasses import asdict

import click
import polars as pl

from tokbench.atomic import atomic_file
from tokbench.published.write import write_published
from tokbench.spreadsheets import write_csv


@click.command("published")
@click.option(
    "--released",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the vocabularies that the authors of 'Tokenization Is More Than Compression' released.",
)
@click.option("--numbers", type=click.Path(dir_okay=False), help="CSV file for every number beside the paper's.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of tables and figures.")
def command(released: str | None, numbers: str | None, output: str) -> None:
    """Recompute what the papers derive from the numbers they print, each beside theirs, and draw their figures."""
    statistics = write_published(output, released)
    if numbers is not None:
        with atomic_file(numbers) as partial:
            write_csv(pl.DataFrame([asdict(one) for one in statistics], infer_schema_length=None), partial)
    for verdict, count in Counter(statistic.verdict for statistic in statistics).items():
        click.echo(f"{verdict}: {count:,}", err=True)
