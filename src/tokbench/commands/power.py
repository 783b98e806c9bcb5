"""``tokbench power``: tell how many seeds a difference needs, from a pilot."""

from pathlib import Path

import click

from tokbench.commands.numbers import Real
from tokbench.commands.outputs import OutputFolder
from tokbench.statistics.power import DETECT, LEAST


@click.command("power")
@click.argument("pilot", type=click.Path(exists=True, file_okay=False))
@click.option("--detect", type=Real(LEAST), default=DETECT, show_default=True, help="Bits per byte to be seen.")
@click.option("-o", "--output", type=OutputFolder("statistics"), help="Folder of the tables; none if left out.")
def command(pilot: str, detect: float, output: str | None) -> None:
    """Tell from the statistics of a PILOT how many seeds a difference of bits per byte needs, before models are
    trained: by the power of the paired t test, documents included, and by the rule n = 15.7 (deviation / difference)^2.

    PILOT is the folder statistics of an experiment that trained like models with two seeds or more.
    """
    from tokbench.statistics.seed_plan import SEED_PLAN, seed_tables, told
    from tokbench.tidy.make import write_tables

    tables = seed_tables(Path(pilot), detect)
    if output is not None:
        write_tables(tables, Path(output), "statistics")
    for line in told(tables[SEED_PLAN]):
        click.echo(line)
