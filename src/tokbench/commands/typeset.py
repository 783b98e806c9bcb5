"""``tokbench typeset``: write the tables for publication."""

import json

import click

from tokbench.report.files import write_tables
from tokbench.report.load import load


@click.command("typeset")
@click.option("--tables", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of tidy tables.")
@click.option("--statistics", required=True, type=click.Path(exists=True, file_okay=False), help="Their statistics.")
@click.option("--experiment", required=True, help="The configuration as JSON.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of the tables.")
def command(tables: str, statistics: str, experiment: str, output: str) -> None:
    """Write every table of the report as CSV, Markdown and LaTeX."""
    write_tables(load(tables, statistics, json.loads(experiment)), output)
