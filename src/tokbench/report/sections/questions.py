"""Variants compared over the questions that both answered, and intervals of averages by the same questions."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.sections.origins import ANSWERS, BOTH, inferred
from tokbench.report.tables import Column, Source, Table
from tokbench.report.wording import slug

_COMPARED = (
    Column("a"),
    Column("b"),
    Column("mean_difference", "a − b (points)", "percent", 2),
    Column("low", kind="percent", decimals=2),
    Column("high", kind="percent", decimals=2),
    Column("bootstrap_p", "p, bootstrap", "p"),
    Column("better", "a better", "count"),
    Column("worse", "b better", "count"),
    Column("p_value", "p", "p"),
    Column("holm", "p, Holm", "p"),
    Column("benjamini_hochberg", "p, BH", "p"),
    Column("questions", kind="count"),
    Column("missing", "cells missing", "count"),
)
_AVERAGED = (
    Column("variant"),
    Column("average", "average (%)", "percent", 2),
    Column("low", kind="percent", decimals=2),
    Column("high", kind="percent", decimals=2),
    Column("cells", kind="count"),
    Column("questions", kind="count"),
)


def questions(content: ReportContent, model: str, suite: str) -> list[Table]:
    """Both tables of one model and suite, those that are there."""
    captions = {
        "question_comparisons": (
            f"Is a better than b over the questions that both answered, {model} on {suite}? The questions that one of "
            "them answered right more often than the other, over all sizes, and p of the one-sided exact sign test on "
            "them (of a single size McNemar's). low, high: 95 % interval of the difference of the averages, by the "
            "paired bootstrap over the questions of each task; a question is drawn with all its sizes.",
            _COMPARED,
            BOTH,
        ),
        "question_intervals": (
            f"Average accuracy of {model} on {suite} in percent, with a 95 % interval by the bootstrap over the "
            "questions of each task; a question is drawn with all its sizes.",
            _AVERAGED,
            (ANSWERS,),
        ),
    }
    return [
        _table(
            slug(name.replace("_", "-"), model, suite),
            caption,
            columns,
            part,
            inferred(name, *files, model=model, suite=suite),
        )
        for name, (caption, columns, files) in captions.items()
        if (frame := content.part(name)) is not None and (part := frame.filter(model=model, suite=suite)).height
    ]


def _table(name: str, caption: str, columns: tuple[Column, ...], part: pl.DataFrame, source: Source) -> Table:
    reasons = {
        (index, column.name): row.get("reason") or "an interval needs two questions"
        for index, row in enumerate(part.iter_rows(named=True))
        for column in columns
    }
    frame = part.select([column.name for column in columns])
    return Table(name, caption, frame, list(columns), reasons, source=source, folded=True)
