"""``tokbench analyse``: compute statistics over the tables."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder

IN_PARTS = ("token_length_distribution", "token_frequency_distribution", "venn_region")
"""Metrics that are many numbers together; none of these says anything of a tokenizer by itself."""


@click.command("analyse")
@click.argument("tables", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--recipes",
    default="{}",
    help="JSON of the variants and models in full: tells seeds of one model, and which published numbers stand beside.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("statistics"), help="Folder of the statistics.")
def command(tables: str, recipes: str, output: str) -> None:
    """Rank and compare the variants by the tidy TABLES: exact Wilcoxon tests with intervals, effect sizes and
    corrections, what they could have seen, comparisons question by question, critical differences, variance between
    seeds, correlations, R^2 between sizes, and published numbers beside ours."""
    import polars as pl

    from tokbench.commands.arguments import mapping_of
    from tokbench.inputs.frames import read_frame
    from tokbench.published.beside import beside
    from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
    from tokbench.statistics.critical_difference import critical_differences
    from tokbench.statistics.intervals import average_intervals
    from tokbench.statistics.pairs import compare_pairs, power_table
    from tokbench.statistics.questions import behind_the_best, compare_questions, question_intervals
    from tokbench.statistics.ranks import averages, averages_by_size
    from tokbench.statistics.seeds import between_seeds, over_seeds, same_but_for_seed, with_seeds
    from tokbench.statistics.tables import write_tables

    experiment = mapping_of(recipes, "--recipes")
    every = read_frame(Path(tables) / "accuracy.parquet", "tabulate again")
    measured = read_frame(Path(tables) / "intrinsic.parquet", "tabulate again")
    intrinsic = measured.filter(~pl.col("metric").is_in(IN_PARTS))
    seeds = same_but_for_seed(experiment.get("models", {}))
    seeded = with_seeds(every, seeds)
    answered = read_frame(Path(tables) / "outcomes.parquet", "tabulate again")
    outcomes = with_seeds(answered, seeds)
    accuracy = over_seeds(seeded)
    pairs = compare_pairs(accuracy)
    statistics = {
        "ranks": averages(accuracy),
        "ranks_by_size": averages_by_size(accuracy),
        "intervals": average_intervals(accuracy),
        "comparisons": pairs,
        "power": power_table(pairs),
        "critical_differences": critical_differences(accuracy),
        "question_intervals": question_intervals(outcomes),
        "question_comparisons": compare_questions(outcomes),
        "behind_the_best": behind_the_best(answered),
        "seeds": between_seeds(seeded),
        "r_squared": between_sizes(accuracy),
        "correlations": metric_with_accuracy(intrinsic, accuracy),
        "metric_correlations": between_metrics(intrinsic),
        "published": beside(intrinsic, every, experiment),
    }
    write_tables(statistics, Path(output), "statistics")
    for name, table in statistics.items():
        click.echo(f"{name}: {len(table):,} rows", err=True)
