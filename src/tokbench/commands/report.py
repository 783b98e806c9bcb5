"""``tokbench report``: write the HTML report."""

import json

import click

from tokbench.report.html import render
from tokbench.report.load import load


@click.command("report")
@click.option("--tables", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of tidy tables.")
@click.option("--statistics", required=True, type=click.Path(exists=True, file_okay=False), help="Their statistics.")
@click.option("--experiment", required=True, help="The configuration as JSON.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="HTML file.")
def command(tables: str, statistics: str, experiment: str, output: str) -> None:
    """Write one self-contained HTML file with every table and figure."""
    render(load(tables, statistics, json.loads(experiment)), output)
