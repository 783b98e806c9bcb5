"""``tokbench compare``: compute statistics over the tables."""

from pathlib import Path

import click
import polars as pl

from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.pairs import compare_pairs
from tokbench.statistics.ranks import averages, averages_by_size
from tokbench.statistics.tables import write_tables

IN_PARTS = ("token_length_distribution", "token_frequency_distribution", "venn_region")
"""Metrics that are many numbers together; none of these says anything of a tokenizer by itself."""


@click.command("compare")
@click.argument("tables", type=click.Path(exists=True, file_okay=False))
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of the statistics.")
def command(tables: str, output: str) -> None:
    """Rank and compare the variants by the tidy TABLES: exact Wilcoxon tests, correlations, R^2 between sizes."""
    accuracy = pl.read_parquet(Path(tables) / "accuracy.parquet")
    measured = pl.read_parquet(Path(tables) / "intrinsic.parquet")
    intrinsic = measured.filter(~pl.col("metric").is_in(IN_PARTS))
    statistics = {
        "ranks": averages(accuracy),
        "ranks_by_size": averages_by_size(accuracy),
        "comparisons": compare_pairs(accuracy),
        "r_squared": between_sizes(accuracy),
        "correlations": metric_with_accuracy(intrinsic, accuracy),
        "metric_correlations": between_metrics(intrinsic),
    }
    write_tables(statistics, Path(output))
    for name, table in statistics.items():
        click.echo(f"{name}: {len(table):,} rows", err=True)
