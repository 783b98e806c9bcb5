"""``tokbench report``: write the HTML report."""

import click

from tokbench.commands.content import content_options
from tokbench.report.content import ReportContent
from tokbench.report.html import render


@click.command("report")
@content_options
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="HTML file.")
def command(content: ReportContent, output: str) -> None:
    """Write one self-contained HTML file with every table and figure."""
    render(content, output)
