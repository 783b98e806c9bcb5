"""Seeds, sizes and text that a prediction at the next size needs, planned from a pilot with models of several sizes.

The plan is that of :mod:`tokbench.statistics.planning.seed_plan`, with a prediction in place of a difference: its
variance with n seeds is seed_deviation^2 / n + document_error^2. The variances are those of
:mod:`tokbench.statistics.scale.ladders`. More text means more documents of the same kind, and divides the second part;
the first is left as it is, although single documents are a part of it.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.judgement_columns import BITS
from tokbench.statistics.planning.seed_plan import MOST, Pilot, highest_deviation
from tokbench.statistics.scale.ladders import SCALE_LADDERS
from tokbench.statistics.scale.scale_lines import AXIS, LINE
from tokbench.statistics.significance.student import detectable
from tokbench.tabulation.columns import REASON
from tokbench.tabulation.table import EXCESS, Column, Print, TidyTable

TEXTS = (1, 2, 4, 8)
"""Multiples of the pilot's documents in the plan."""
Row = dict[str, Any]


def plan_ladders(pilot_ladders: pl.DataFrame, detect: float) -> pl.DataFrame:
    """Return the numbers of seeds that each ladder of a pilot needs to predict a difference at the next scale.

    Args:
        pilot_ladders: table ``scale_ladders`` of a pilot.
        detect: difference in bits per byte.

    Returns:
        The columns of :data:`LADDER_PLAN`, a row per ladder and multiple of the pilot's documents.
    """
    rows: list[Row] = []
    for ladder in pilot_ladders.iter_rows(named=True):
        share = detect / ladder["bits_per_byte"]
        head = {name: ladder[name] for name in (*(column.name for column in LINE), "axis", "ladder", "at")}
        head |= {"detect": detect, "detect_share": share}
        if ladder["reason"] is not None:
            rows.append(head | {"documents": ladder["documents"], "reason": ladder["reason"]})
            continue
        degrees = (ladder["tokenizers"] - 1) * (ladder["seeds"] - 1)
        highest = highest_deviation(ladder["seed_deviation"], degrees)
        for text in TEXTS:
            documents, error = text * ladder["documents"], ladder["document_error"] / text**0.5
            plan = Pilot((), 0, ladder["seeds"], documents, 0.0, ladder["seed_deviation"], highest, error)
            needed, at_most = plan.needed(share), plan.needed(share, highest)
            floor = error * detectable(documents - 1.0)
            row = head | {"documents": documents, "needed": needed, "needed_at_most": at_most, "floor": floor}
            if needed is not None and ladder["petaflop"] is not None:
                row["petaflop"] = needed * ladder["petaflop"]
            if needed is None:
                row["reason"] = f"more than {MOST:,} seeds" if floor < share else "documents alone hide it"
            rows.append(row)
    return LADDER_PLAN.frame(rows)


def ladder_sentences(plan: pl.DataFrame) -> Iterator[str]:
    """Yield a sentence for each line of :func:`plan_ladders`: its cheapest ladder, with the fewest documents."""
    for _, line in plan.group_by(*(column.name for column in LINE), maintain_order=True):
        first = line.row(0, named=True)
        place = f"{first['suite']} on {first['corpus']} at {first['size']}, by {first['varies']}"
        goal = f"a difference of {first['detect']:g} bits per byte ({first['detect_share']:.2%}) at the next scale"
        known = line.drop_nulls("needed")
        if known.is_empty():
            yield f"{place}: no ladder of the pilot predicts {goal}: {first['reason']}"
            continue
        row = known.sort("documents", "petaflop", "needed", nulls_last=True, maintain_order=True).row(0, named=True)
        cost = "" if row["petaflop"] is None else f", {row['petaflop']:.3g} PFLOP for each tokenizer"
        yield (
            f"{place}: predicting {goal} ({row['axis'].replace('_', ' ')} {row['at']:,.0f}) needs {row['needed']} "
            f"seeds of the pilot's {row['ladder']} on {row['documents']:,} documents{cost}, if the rule of the "
            "prediction is right"
        )


LADDER_PLAN = TidyTable(
    "ladder_plan",
    "a ladder of a pilot, and a multiple of its documents",
    (
        *LINE,
        AXIS,
        *(column for column in SCALE_LADDERS.columns if column.name in ("ladder", "at")),
        Column("detect", pl.Float64, "difference to detect", BITS, "to be seen", 4),
        Column("detect_share", pl.Float64, "this difference / bits per byte of the largest model of the pilot", EXCESS,
               "to be seen (%)", 2),
        Column("documents", pl.Int64, "documents of the evaluation, a multiple of the pilot's", "documents"),
        Column("floor", pl.Float64, "relative difference that any number of seeds detects on these documents", EXCESS,
               "floor (%)", 2),
        Column("needed", pl.Int64, "seeds of each model of the ladder that detect the difference with probability 0.8, "
               "by the two-sided t test at level 0.05 of a prediction, if its rule is right", "seeds", "seeds needed"),
        Column("needed_at_most", pl.Int64, "the same, for a deviation between seeds at the upper end of its 95 % "
               "interval", "seeds", "seeds at most", empty=f"more than {MOST:,}"),
        Column("petaflop", pl.Float64, "floating-point operations of all these trainings with one tokenizer", "PFLOP",
               "arithmetic", empty="not known, or no number of seeds"),
        REASON,
    ),
    maker=plan_ladders,
    takes=("pilot_ladders", "detect"),
    prints=(
        Print(
            "statistics",
            "Seeds, models and documents that predict a difference of two tokenizers at the next scale, planned from a "
            "pilot. The plan assumes that the rule of the prediction is right; the back-test shows its error.",
            (
                "corpus", "suite", "size", "varies", "ladder", "at", "detect", "detect_share", "documents", "floor",
                "needed", "needed_at_most", "petaflop",
            ),
            folds_above=0,
            arranged=True,
        ),
    ),
)  # fmt: skip
