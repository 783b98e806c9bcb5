"""``tokbench typeset``: write the tables for publication."""

from typing import TYPE_CHECKING

import click

from tokbench.commands.content import content_options
from tokbench.commands.outputs import OutputFolder

if TYPE_CHECKING:
    from tokbench.report.content import ReportContent


@click.command("typeset")
@content_options
@click.option("-o", "--output", required=True, type=OutputFolder("typeset tables"), help="Folder of the tables.")
def command(content: "ReportContent", output: str) -> None:
    """Write every table of the report as CSV, Markdown and LaTeX."""
    from tokbench.report.files import write_tables

    write_tables(content, output)
