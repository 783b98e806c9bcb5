"""Several seeds per cell: means, which every comparison uses, and variance between seeds.

A table of accuracies with a column ``seed`` may have several rows per cell, one per seed.
"""

import re
from collections.abc import Mapping
from math import fsum, sqrt
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.tabulation.columns import ACCURACY, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable, require, schema

SEVERAL = re.compile(r" \((\d+) seeds\)$")
"""End of the common name of models that differ only in the seed; no file has such a name."""
UNNAMED = 17
"""Seed of a recipe without one: the default seed of language models."""
KEYS = ["variant", "size", "model", "suite", "task"]


def same_but_for_seed(models: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, int]]:
    """Group models whose recipes differ only in the seed.

    Args:
        models: recipes by name, in the order of the configuration; a recipe without a seed has :data:`UNNAMED`.

    Returns:
        For each model in a group of several: the group's common name, ``FIRST (3 seeds)``, and the model's seed.
    """
    names_by_recipe: dict[str, list[str]] = {}
    for name, recipe in models.items():
        rest = {key: value for key, value in recipe.items() if key != "seed"}
        names_by_recipe.setdefault(repr(sorted(rest.items())), []).append(name)
    seeds = {name: recipe.get("seed", UNNAMED) for name, recipe in models.items()}
    groups = [names for names in names_by_recipe.values() if len({seeds[name] for name in names}) > 1]
    return {name: (f"{names[0]} ({len(names)} seeds)", seeds[name]) for names in groups for name in names}


def with_seeds(accuracy: pl.DataFrame, seeds: Mapping[str, tuple[str, int]]) -> pl.DataFrame:
    """Return the table with common names of models, and their seeds in the column ``seed`` (null without siblings)."""
    common = {model: name for model, (name, _) in seeds.items()}
    numbers = {model: seed for model, (_, seed) in seeds.items()}
    seed = pl.col("model").replace_strict(numbers, default=None, return_dtype=pl.Int64)
    return accuracy.with_columns(pl.col("model").replace(common), seed=seed)


def average_seeds(accuracy: pl.DataFrame) -> pl.DataFrame:
    """Return the mean accuracy of each cell over its seeds; a cell that lacks a seed is missing.

    The expected seeds are those of the cell's model, suite and size. Sizes may have different seeds, because variants
    are compared within a size.

    Args:
        accuracy: table of accuracies, with or without a column ``seed``.

    Returns:
        The table without the column: one row per cell. The accuracy is null if a seed is missing.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated for one seed.
    """
    require(accuracy, ACCURACY, "accuracy table")
    if "seed" not in accuracy.columns:
        return accuracy
    twice = accuracy.filter(accuracy.select(*KEYS, "seed").is_duplicated())
    if not twice.is_empty():
        row = twice.row(0, named=True)
        cell = ", ".join(f"{key} {row[key]}" for key in (*KEYS, "seed"))
        raise TokbenchError(f"accuracy table: {cell} is duplicated; keep one row")
    compared = ["model", "suite", "size"]
    seed_counts = accuracy.group_by(compared).agg(pl.col("seed").n_unique().alias("seeds"))
    known = pl.col("accuracy").fill_nan(None)
    means = accuracy.group_by(KEYS, maintain_order=True).agg(
        known.sort_by("seed").mean().alias("accuracy"),
        known.count().alias("known"),
        pl.col("random_baseline").drop_nulls().first(),
        pl.col("n").max(),
    )
    whole = pl.when(pl.col("known") == pl.col("seeds")).then(pl.col("accuracy"))
    joined = means.join(seed_counts, on=compared, how="left", maintain_order="left")
    return joined.with_columns(accuracy=whole).select(list(schema(ACCURACY)))


def seed_variation(accuracy: pl.DataFrame) -> pl.DataFrame:
    """Return the variation of a tokenizer's average accuracy between seeds.

    Args:
        accuracy: table of accuracies as shares, with a column ``seed``.

    Returns:
        One row per model, suite, variant and size with two or more seeds. ``seeds`` is their number, ``average`` the
        mean over seeds and tasks, ``deviation`` the sample standard deviation of the seeds' averages. ``lowest`` and
        ``highest`` are averages of single seeds. ``question_deviation`` is the standard deviation from sampling
        independent questions; ``deviation`` may be smaller, because all seeds answer the same questions. ``reason``
        names seeds that are left out because they lack a task.
    """
    require(accuracy, ACCURACY, "accuracy table")
    rows: list[dict[str, Any]] = []
    keys = ["model", "suite", "variant", "size"]
    seeded = accuracy if "seed" in accuracy.columns else accuracy.clear().with_columns(seed=pl.lit(None, pl.Int64))
    tasks = {head: part["task"].n_unique() for head, part in seeded.group_by("model", "suite")}
    ordered = seeded.drop_nulls("seed").sort(*keys, "seed", "task").with_columns(pl.col("accuracy").fill_nan(None))
    for head, part in ordered.group_by(keys, maintain_order=True):
        if part["seed"].n_unique() < 2:
            continue
        task_count = tasks[head[:2]]
        by_seed = {
            seed: cells.drop_nulls("accuracy")["accuracy"].to_list()
            for (seed,), cells in part.group_by("seed", maintain_order=True)
        }
        # Averages of the seeds that have every task.
        averages = [fsum(cells) / task_count for cells in by_seed.values() if len(cells) == task_count]
        lacking = [str(seed) for seed, cells in by_seed.items() if len(cells) < task_count]
        reason = f"left out, lacking a task: seed {', '.join(lacking)}" if lacking else None
        row = dict(zip(keys, head, strict=True)) | {"seeds": len(averages), "reason": reason}
        if len(averages) < 2:
            rows.append(row)
            continue
        # Standard deviation between seeds, and that of the average over other questions.
        mean = fsum(averages) / len(averages)
        deviation = sqrt(fsum((value - mean) ** 2 for value in averages) / (len(averages) - 1))
        cells = part.group_by("task").agg(pl.col("accuracy").mean(), pl.col("n").max()).select("accuracy", "n").rows()
        questions = sqrt(fsum(a * (1 - a) / n for a, n in cells)) / task_count if all(n for _, n in cells) else None
        spread = {"average": mean, "deviation": deviation, "lowest": min(averages), "highest": max(averages)}
        rows.append(row | spread | {"question_deviation": questions})
    return SEEDS.frame(rows)


SEEDS = TidyTable(
    "seeds",
    "a tokenizer under a suite and a model that was trained with two or more seeds",
    (
        MODEL,
        SUITE,
        VARIANT,
        SIZE,
        Column("seeds", pl.Int64, "seeds with every task", "seeds"),
        Column("average", pl.Float64, "mean accuracy over seeds and tasks", SHARE, "average (%)", 2),
        Column("deviation", pl.Float64, "sample standard deviation of the seeds' averages", SHARE, "deviation", 2),
        Column("lowest", pl.Float64, "lowest average of a seed", SHARE, decimals=2),
        Column("highest", pl.Float64, "highest average of a seed", SHARE, decimals=2),
        Column(
            "question_deviation", pl.Float64, "standard deviation of the average from sampling this many questions",
            SHARE,
            "deviation by questions", 2,
        ),
        REASON,
    ),
    maker=seed_variation,
    takes=("accuracy_by_seed",),
    prints=(
        Print(
            "statistics",
            "Average accuracy over the tasks, in percent, by seed: mean, sample standard deviation, lowest and "
            "highest. Next to the deviation: the deviation expected from sampling as many questions.",
            (
                "variant", "size", "model", "suite", "seeds", "average", "deviation", "lowest", "highest",
                "question_deviation",
            ),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
