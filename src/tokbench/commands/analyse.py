"""``tokbench analyse``: compute statistics over the tables."""

from pathlib import Path

import click

from tokbench.commands.numbers import Real
from tokbench.commands.outputs import OutputFolder
from tokbench.statistics.power import DETECT, LEAST


@click.command("analyse")
@click.argument("tables", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--recipes",
    default="{}",
    help="JSON of the variants and models in full: tells seeds of one model, and which published numbers stand beside.",
)
@click.option("--baseline", "baselines", multiple=True, metavar="CORPUS=VARIANT", help="What others are relative to.")
@click.option(
    "--pilot", type=click.Path(exists=True, file_okay=False), help="Statistics of a pilot, for the seeds needed."
)
@click.option("--detect", type=Real(LEAST), default=DETECT, show_default=True, help="Bits per byte to be seen.")
@click.option("-o", "--output", required=True, type=OutputFolder("statistics"), help="Folder of the statistics.")
def command(
    tables: str, recipes: str, baselines: tuple[str, ...], pilot: str | None, detect: float, output: str
) -> None:
    """Rank and compare the variants by the tidy TABLES: exact Wilcoxon tests with intervals, effect sizes and
    corrections, what they could have seen, comparisons question by question, bits per byte by seed and document and
    over languages, seeds that are needed, critical differences, variance between seeds, correlations, R^2 between
    sizes, measures beside language models, and published numbers beside ours."""
    from tokbench.commands.arguments import mapping_of
    from tokbench.commands.baselines import by_corpus
    from tokbench.statistics.tidy_tables import TidyTables, analyse
    from tokbench.tidy.make import write_tables

    material = TidyTables(
        Path(tables), mapping_of(recipes, "--recipes"), by_corpus(baselines), Path(pilot) if pilot else None, detect
    )
    made = analyse(material)
    write_tables(made, Path(output), "statistics")
    for table, frame in made.items():
        click.echo(f"{table.name}: {len(frame):,} rows", err=True)
