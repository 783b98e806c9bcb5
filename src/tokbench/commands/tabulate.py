"""``tokbench tabulate``: gather measurements and results into tidy tables."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder


@click.command("tabulate")
@click.option("--intrinsic", multiple=True, help="Measurements of a tokenizer; may be repeated.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer, to compare; may be repeated.")
@click.option("--embeddings", multiple=True, help="Folder embeddings/MODEL/VARIANT/SIZE; may be repeated.")
@click.option("--model", "models", multiple=True, help="Folder models/MODEL/VARIANT/SIZE, for curves; may be repeated.")
@click.option("--downstream", multiple=True, help="Results of a model; may be repeated.")
@click.option("--baseline", "baselines", multiple=True, metavar="CORPUS=VARIANT", help="What others are relative to.")
@click.option("--venn", multiple=True, help="Variant of the Venn diagram; three times.")
@click.option("-o", "--output", required=True, type=OutputFolder("tables"), help="Folder of the tables.")
def command(
    intrinsic: tuple[str, ...],
    tokenizers: tuple[str, ...],
    embeddings: tuple[str, ...],
    models: tuple[str, ...],
    downstream: tuple[str, ...],
    baselines: tuple[str, ...],
    venn: tuple[str, ...],
    output: str,
) -> None:
    """Gather what the stages wrote into tidy tables, Parquet and CSV, and compare the tokenizers with each other."""
    from tokbench.commands.tidy_tables import tidy_tables
    from tokbench.statistics.tables import write_tables

    tables = tidy_tables(intrinsic, tokenizers, embeddings, models, downstream, baselines, venn)
    write_tables(tables, Path(output))
    for name, table in tables.items():
        click.echo(f"{name}: {len(table):,} rows", err=True)
