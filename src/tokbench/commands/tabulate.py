"""``tokbench tabulate``: gather measurements and results into tidy tables."""

from pathlib import Path

import click
import polars as pl

from tokbench.intrinsic.overlap import overlaps_by_size, venn_by_size
from tokbench.statistics.tables import accuracy_table, bits_per_byte_table, curve_table, intrinsic_table, write_tables
from tokbench.tokenizer import Tokenizer


@click.command("tabulate")
@click.option("--intrinsic", multiple=True, help="Measurements of a tokenizer; may be repeated.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer, for overlaps; may be repeated.")
@click.option("--model", "models", multiple=True, help="Folder models/MODEL/VARIANT/SIZE, for curves; may be repeated.")
@click.option("--downstream", multiple=True, help="Results of a model; may be repeated.")
@click.option("--venn", multiple=True, help="Variant of the Venn diagram; three times.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of the tables.")
def command(
    intrinsic: tuple[str, ...],
    tokenizers: tuple[str, ...],
    models: tuple[str, ...],
    downstream: tuple[str, ...],
    venn: tuple[str, ...],
    output: str,
) -> None:
    """Gather what the stages wrote into tidy tables, Parquet and CSV."""
    loaded = [Tokenizer.load(folder) for folder in tokenizers]
    vocabularies = {
        (tokenizer.name, int(tokenizer.origin["requested_size"])): tokenizer.vocabulary for tokenizer in loaded
    }
    tables: dict[str, pl.DataFrame] = {
        "intrinsic": intrinsic_table(intrinsic),
        "overlaps": overlaps_by_size(vocabularies),
        "venn": venn_by_size(vocabularies, venn),
        "accuracy": accuracy_table(downstream),
        "bits_per_byte": bits_per_byte_table(downstream),
        "curves": curve_table(models),
    }
    write_tables(tables, Path(output))
    for name, table in tables.items():
        click.echo(f"{name}: {len(table):,} rows", err=True)
