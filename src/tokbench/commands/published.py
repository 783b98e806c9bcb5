"""``tokbench published``: recompute what the papers print."""

import shutil
from collections import Counter
from dataclasses import asdict

import click

from tokbench.commands.outputs import OutputFolder, output_file


@click.command("published")
@click.option(
    "--released",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the vocabularies that the authors of 'Tokenization Is More Than Compression' released.",
)
@output_file("--numbers", help="CSV file for every number beside the paper's.")
@click.option("--keep", type=OutputFolder("published"), help="Folder that is replaced by a copy once all is written.")
@click.option("-o", "--output", required=True, type=OutputFolder("published"), help="Folder of tables and figures.")
def command(released: str | None, numbers: str | None, keep: str | None, output: str) -> None:
    """Recompute what the papers derive from the numbers they print, each beside theirs, and draw their figures."""
    import polars as pl

    from tokbench.atomic import NOT_CONTENT, atomic_file, atomic_folder
    from tokbench.published.write import write_published
    from tokbench.spreadsheets import write_csv

    statistics = write_published(output, released)
    if numbers is not None:
        with atomic_file(numbers) as partial:
            write_csv(pl.DataFrame([asdict(one) for one in statistics], infer_schema_length=None), partial)
    if keep is not None:
        with atomic_folder(keep, "published") as partial:
            shutil.copytree(output, partial, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*NOT_CONTENT))
    for verdict, count in Counter(statistic.verdict for statistic in statistics).items():
        click.echo(f"{verdict}: {count:,}", err=True)
