"""``tokbench report``: write the HTML report."""

from typing import TYPE_CHECKING

import click

from tokbench.commands.content import content_options
from tokbench.commands.marks import page
from tokbench.commands.outputs import output_file

if TYPE_CHECKING:
    from tokbench.report.content import ReportContent


@click.command("report")
@content_options
@click.option("--speed", "speeds", multiple=True, help="How fast a tokenizer encodes; may be repeated.")
@click.option(
    "--prepared", multiple=True, type=click.Path(exists=True, file_okay=False), help="Folder of a corpus; repeatable."
)
@output_file(mark=page, required=True, help="HTML file.")
def command(content: "ReportContent", speeds: tuple[str, ...], prepared: tuple[str, ...], output: str) -> None:
    """Write one self-contained HTML file with every table and figure."""
    from dataclasses import replace
    from pathlib import Path

    from tokbench.corpus.manifest import lines_of, read_findings
    from tokbench.report.html import render
    from tokbench.report.speeds import read_speeds

    manifests = {folder.name: lines_of(read_findings(folder)) for folder in map(Path, prepared)}
    findings = {corpus: lines for corpus, lines in manifests.items() if lines}
    render(replace(content, speeds=read_speeds(speeds), findings=findings), output)
