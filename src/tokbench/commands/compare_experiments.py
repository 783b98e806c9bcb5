"""``tokbench compare_experiments``: tell what changed between runs."""

import sys

import click

from tokbench.commands.marks import page
from tokbench.commands.outputs import output_file

DIFFERS = 1
"""Exit status where the runs differ beyond noise, as of ``diff``."""


@click.command("compare_experiments")
@click.argument("a", type=click.Path(exists=True, file_okay=False))
@click.argument("b", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False), metavar="B...")
@output_file(mark=page, help="HTML file to write as well.")
@click.option("--all", "every", is_flag=True, help="List every change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(a: str, b: tuple[str, ...], output: str | None, every: bool, as_json: bool) -> None:
    """Tell what changed from one run to another, cell by cell of their tables, beyond noise: A and B are folders of
    experiments, such as results/demo, or of tables that are kept, such as results/published/novels. Where both have a
    number for each document or question, these are paired and p-values are corrected for all tests (Holm). Of several
    runs B each is compared with A, and p-values are corrected for the tests of them all.

    The exit status is 0 where nothing differs beyond noise, 1 where something does, or where only one of two has it,
    and as everywhere 2 for a mistake in what was given."""
    from pathlib import Path

    from tokbench.side_by_side.run import read_run
    from tokbench.side_by_side.several import compare_several
    from tokbench.tidy.collection import tables_of

    declared = tables_of("tabulate", "analyse")
    folders = [a, *b]
    names = [Path(folder).resolve().name for folder in folders]
    called = names if len(set(names)) == len(names) else folders
    found = compare_several(
        [read_run(Path(folder), name, declared) for folder, name in zip(folders, called, strict=True)], declared
    )
    two = found.comparisons[0] if len(b) == 1 else None
    if output is not None:
        from tokbench.side_by_side.page import page, several_page, write_page

        write_page(several_page(found) if two is None else page(two), Path(output))
    if as_json:
        from tokbench.plain_json import written
        from tokbench.side_by_side.as_json import comparison_json, several_json

        click.echo(written(several_json(found) if two is None else comparison_json(two)), nl=False)
    else:
        from tokbench.side_by_side.terminal import comparison_text, several_text

        told = several_text(found, every=every) if two is None else comparison_text(two, every=every)
        click.echo(told, nl=False)
    if found.differs:
        sys.exit(DIFFERS)
