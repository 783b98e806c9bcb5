"""``tokbench draw``: draw the figures."""

from typing import TYPE_CHECKING

import click

from tokbench.commands.content import content_options
from tokbench.commands.outputs import OutputFolder

if TYPE_CHECKING:
    from tokbench.report.content import ReportContent


@click.command("draw")
@content_options
@click.option("-o", "--output", required=True, type=OutputFolder("figures"), help="Folder of the figures.")
def command(content: "ReportContent", output: str) -> None:
    """Draw every figure as SVG and PNG, for a full page and for one of two columns."""
    from tokbench.report.files import write_figures

    write_figures(content, output)
