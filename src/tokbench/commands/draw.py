"""``tokbench draw``: draw the figures."""

import json

import click

from tokbench.report.files import write_figures
from tokbench.report.load import load


@click.command("draw")
@click.option("--tables", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of tidy tables.")
@click.option("--statistics", required=True, type=click.Path(exists=True, file_okay=False), help="Their statistics.")
@click.option("--experiment", required=True, help="The configuration as JSON.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of the figures.")
def command(tables: str, statistics: str, experiment: str, output: str) -> None:
    """Draw every figure as SVG and PNG, for a full page and for one of two columns."""
    write_figures(load(tables, statistics, json.loads(experiment)), output)
