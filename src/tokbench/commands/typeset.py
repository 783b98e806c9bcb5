"""``tokbench typeset``: write the tables for publication."""

import click

from tokbench.commands.content import content_options
from tokbench.commands.outputs import OutputFolder
from tokbench.report.content import ReportContent
from tokbench.report.files import write_tables


@click.command("typeset")
@content_options
@click.option("-o", "--output", required=True, type=OutputFolder("typeset tables"), help="Folder of the tables.")
def command(content: ReportContent, output: str) -> None:
    """Write every table of the report as CSV, Markdown and LaTeX."""
    write_tables(content, output)
