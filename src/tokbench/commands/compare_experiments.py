"""``tokbench compare-experiments``: tell what changed between two runs."""

import sys

import click

DIFFERS = 1
"""Exit status where the two differ beyond noise, as of ``diff``."""


@click.command("compare_experiments")
@click.argument("a", type=click.Path(exists=True, file_okay=False))
@click.argument("b", type=click.Path(exists=True, file_okay=False))
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="HTML file to write as well.")
@click.option("--all", "every", is_flag=True, help="List every change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(a: str, b: str, output: str | None, every: bool, as_json: bool) -> None:
    """Tell what changed from one run to another, cell by cell of their tables, beyond noise: A and B are folders of
    experiments, such as results/demo, or of tables that are kept, such as results/published/novels. Where both have a
    number for each document or question, these are paired and p-values are corrected for all tests (Holm).

    The exit status is 0 where nothing differs beyond noise, 1 where something does, or where only one of the two has
    it, and as everywhere 2 for a mistake in what was given."""
    from pathlib import Path

    from tokbench.side_by_side.comparison import compare_runs
    from tokbench.side_by_side.run import read_run
    from tokbench.statistics.declared import declared as analysed
    from tokbench.tabulation.declared import declared as tabulated

    declared = [*tabulated(), *analysed()]
    names = [Path(folder).resolve().name for folder in (a, b)]
    first, second = (
        read_run(Path(folder), name if names[0] != names[1] else folder, declared)
        for folder, name in zip((a, b), names, strict=True)
    )
    found = compare_runs(first, second, declared)
    if output is not None:
        from tokbench.side_by_side.page import write_page

        write_page(found, Path(output))
    if as_json:
        from tokbench.plain_json import written
        from tokbench.side_by_side.as_json import comparison_json

        click.echo(written(comparison_json(found)), nl=False)
    else:
        from tokbench.side_by_side.terminal import comparison_text

        click.echo(comparison_text(found, every=every), nl=False)
    if found.differs:
        sys.exit(DIFFERS)
