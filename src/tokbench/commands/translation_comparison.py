"""What an experiment's translation models say of two of its joint vocabularies."""

from pathlib import Path
from typing import Any

import polars as pl

from tokbench.commands.sides import Sizes, size_label
from tokbench.inputs.frames import read_frame
from tokbench.report.terminal import Line, Part
from tokbench.statistics.contrast import Contrast
from tokbench.statistics.verdicts import why_untested
from tokbench.translation_scores import RESAMPLES

OF = ("parallel", "source_language", "target_language", "test", "model")
SCORE = "score of the test as a whole; p is that of the paired bootstrap, twice its one side"
SEEDS = "  Intervals are over sentences, not over seeds."


def translation_parts(a: str, b: str, sizes: Sizes, experiment: Path) -> list[Part]:
    """A part for each test of each model that has both as joint vocabularies: every metric, by the paired bootstrap."""
    path = experiment / "statistics" / "translation_comparisons.parquet"
    if not path.is_file():
        return []
    rows = read_frame(path, "analyse again")
    rows = rows.filter((pl.col("a").eq(a) & pl.col("b").eq(b)) | (pl.col("a").eq(b) & pl.col("b").eq(a)))
    parts = []
    for (parallel, source, target, test, model), part in rows.group_by(OF, maintain_order=True):
        lines = [
            Line(f"{row['metric']}, {size_label(size_a, size_b)}", _contrast(row, a), "highest",
                 f"{row['metric']} on {test} with the translation model {model}", SCORE, sizes=[(size_a, size_b)],
                 trainings=row["seeds"])
            for size_a, size_b in sizes
            for row in part.filter(size=size_a).iter_rows(named=True)
            if size_a == size_b
        ]  # fmt: skip
        heading = f"{model}, {parallel} from {source} into {target}, test {test}; intervals over sentences"
        untested = dict.fromkeys(line.untested for line in lines if line.untested)
        notes = [SEEDS, *(f"  {why.capitalize()}." for why in untested)] if lines else []
        parts.append(Part(heading, "real", "real", lines, notes))
    return parts


def _contrast(row: dict[str, Any], a: str) -> Contrast:
    """Return a row as a contrast, with the two exchanged if the row has them the other way."""
    p = None if why_untested(row["seeds"]) else _both_sides(row)
    if row["a"] == a:
        values = (row["score_a"], row["score_b"], row["difference"], row["low"], row["high"])
    else:
        values = (row["score_b"], row["score_a"], -row["difference"], -row["high"], -row["low"])
    return Contrast(*values, row["n"], p)


def _both_sides(row: dict[str, Any]) -> float:
    """Return the two-sided p of the paired bootstrap.

    Resamples in which the two are equal count against a in the row's p and would count for it on the other side, so
    that p is no less than an interval about zero allows.
    """
    one_sided = row["bootstrap_p"] if row["difference"] > 0 else max(1 / (1 + RESAMPLES), 1 - row["bootstrap_p"])
    p = 2 * one_sided if row["difference"] else 1.0
    if row["low"] <= 0 <= row["high"]:
        p = max(p, 0.05)
    return min(1.0, p)
