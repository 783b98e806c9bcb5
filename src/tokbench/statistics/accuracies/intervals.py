"""Normal-theory intervals of average accuracies, as papers print them; no comparison uses them."""

from math import fsum, sqrt
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.statistics.significance.verdicts import CONFIDENCE
from tokbench.tabulation.columns import (
    ACCURACY,
    AVERAGE,
    CELLS,
    HIGH,
    LOW,
    MODEL,
    QUESTIONS,
    REASON,
    SUITE,
    VARIANT,
    of_share,
)
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable, require


def average_intervals(accuracy: pl.DataFrame, confidence: float = CONFIDENCE) -> pl.DataFrame:
    """Return the interval of each variant's average accuracy over other questions of the same kind.

    Questions are assumed independent and cells fixed. The standard error of the average of m cells is
    sqrt(sum of a(1 - a)/n) / m. The interval does not cover training with another seed, or other tasks.

    Args:
        accuracy: table of accuracies as shares, see :data:`tokbench.tabulation.columns.ACCURACY`.
        confidence: confidence level (default: 0.95).

    Returns:
        One row per model, suite and variant: ``average``, ``stderr``, ``low``, ``high`` (shares), ``cells``,
        ``questions``, ``reason`` (why there is no average).

    Raises:
        TokbenchError: a column is missing, or an accuracy is not a share between 0 and 1.
    """
    require(accuracy, ACCURACY, "accuracy table")
    from tokbench.statistics.significance.distributions import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    rows: list[dict[str, Any]] = []
    keys = ["model", "suite", "variant"]
    ordered = accuracy.sort(*keys, "size", "task").with_columns(pl.col("accuracy").fill_nan(None))
    for key, part in ordered.group_by(keys, maintain_order=True):
        head = dict(zip(keys, map(str, key), strict=True))
        # Reject percentages, and report cells without a value.
        known = part.drop_nulls("accuracy").select("accuracy", "n").rows()
        outside = [share for share, _ in known if not 0 <= share <= 1]
        if outside:
            raise TokbenchError(
                f"accuracy table: {outside[0]} is not a share between 0 and 1; divide percentages by 100"
            )
        lacking = part.height - len(known) + sum(not n for _, n in known)
        if lacking:
            reason = f"{lacking} of {part.height} cells have no accuracy or no number of questions"
            rows.append(head | {"cells": part.height, "reason": reason})
            continue
        # Normal approximation to the mean of independent binomial shares.
        average = fsum(share for share, _ in known) / len(known)
        error = sqrt(fsum(share * (1 - share) / n for share, n in known)) / len(known)
        low, high = max(0.0, average - z * error), min(1.0, average + z * error)
        counts = {"cells": len(known), "questions": sum(n for _, n in known)}
        rows.append(head | {"average": average, "stderr": error, "low": low, "high": high} | counts)
    return INTERVALS.frame(rows)


INTERVALS = TidyTable(
    "intervals",
    "a variant under a model and suite",
    (
        MODEL,
        SUITE,
        VARIANT,
        AVERAGE,
        Column("stderr", pl.Float64, "standard error of the average over questions", SHARE, "standard error", 2),
        of_share(LOW),
        of_share(HIGH),
        CELLS,
        QUESTIONS,
        REASON,
    ),
    maker=average_intervals,
    takes=("accuracy",),
    keys=("model", "suite", "variant"),
    prints=(
        Print(
            "statistics",
            "Average accuracy in percent. The 95 % interval is for the same models on other questions of the same "
            "kind: questions are independent draws; tasks, sizes and seeds are fixed.",
            ("variant", "model", "suite", "average", "stderr", "low", "high", "cells", "questions"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)
