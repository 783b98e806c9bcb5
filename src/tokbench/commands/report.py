"""``tokbench report``: write the HTML report."""

from typing import TYPE_CHECKING

import click

from tokbench.commands.content import content_options

if TYPE_CHECKING:
    from tokbench.report.content import ReportContent


@click.command("report")
@content_options
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="HTML file.")
def command(content: "ReportContent", output: str) -> None:
    """Write one self-contained HTML file with every table and figure."""
    from tokbench.report.html import render

    render(content, output)
