"""The facts as the tidy tables that statistics take, and what each printed number can stand for."""

from functools import cache

import polars as pl

from tokbench.published import facts
from tokbench.statistics.cells import ACCURACY, INTRINSIC
from tokbench.statistics.rounding import Span, printed_span, share_span

SUITE = {"pathpiece": "ten tasks", "greedtok": "eleven tasks"}
"""Names of the papers' sets of tasks."""
MODEL = "350M"
"""The model of "Tokenization Is More Than Compression" that every variant was trained with."""
APART = ("randtrain_", "pathpiece_ngram_space_digit")
"""Variants that are no part of the 18: those of appendix F, and one that was trained at 1.3B alone."""


@cache
def spans(paper: str) -> dict[tuple[str, str, int, str], Span]:
    """What each accuracy can stand for, in percent, by model, variant, size and task."""
    questions = dict(facts.tasks().filter(paper=paper).select("task", "questions").iter_rows())
    printed = facts.cells().filter(paper=paper, metric="accuracy")
    rows = printed.select("model", "variant", "size", "task", "value").iter_rows()
    return {
        (model, variant, size, task): share_span(value, questions[task]) for model, variant, size, task, value in rows
    }


@cache
def accuracy(paper: str) -> pl.DataFrame:
    """The paper's accuracies in the columns of :data:`tokbench.statistics.cells.ACCURACY`, each the share of right
    answers nearest to what is printed, see :func:`tokbench.statistics.rounding.share_span`."""
    of_tasks = {task: (questions, random) for _, task, _, questions, random in facts.tasks().filter(paper=paper).rows()}
    rows = []
    for (model, variant, size, task), span in spans(paper).items():
        questions, random = of_tasks[task]
        guess = None if random is None else random / 100
        rows.append((variant, size, model, SUITE[paper], task, span.value / 100, guess, questions))
    return pl.DataFrame(rows, schema=ACCURACY, orient="row")


def main_runs() -> pl.DataFrame:
    """Accuracies of the 18 variants at three sizes under the 350M models."""
    return accuracy("pathpiece").filter(
        pl.col("model") == MODEL, *(~pl.col("variant").str.starts_with(p) for p in APART)
    )


def average_span(paper: str, model: str, variant: str, sizes: list[int]) -> Span | None:
    """What the average accuracy can be, in percent, over all tasks and the sizes; None where a cell is not printed."""
    tasks = facts.tasks().filter(paper=paper)["task"].to_list()
    known = spans(paper)
    keys = [(model, variant, size, task) for size in sizes for task in tasks]
    if not keys or any(key not in known for key in keys):
        return None
    found = [known[key] for key in keys]
    return Span(*(sum(values) / len(found) for values in zip(*((s.low, s.value, s.high) for s in found), strict=True)))


@cache
def intrinsic() -> pl.DataFrame:
    """Token counts and Rényi efficiencies of "Tokenization Is More Than Compression", table 11, in the columns of
    :data:`tokbench.statistics.cells.INTRINSIC`."""
    printed = facts.cells().filter(paper="pathpiece", where="Table 11")
    scale = pl.when(pl.col("unit") == "billions").then(1e9).otherwise(1.0)
    return printed.with_columns(
        language=pl.lit(""),
        definition=pl.when(pl.col("unit") == "billions").then(pl.lit("tokens")).otherwise(pl.lit("nominal size")),
        value=pl.col("value").cast(pl.Float64) * scale,
        n=pl.lit(1, pl.Int64),
        reason=pl.lit(None, pl.String),
    ).select(list(INTRINSIC))


def measured_spans(metric: str) -> dict[tuple[str, int], Span]:
    """What each value of a metric of table 11 can stand for, as printed, by variant and size."""
    printed = facts.cells().filter(paper="pathpiece", where="Table 11", metric=metric)
    return {
        (variant, size): printed_span(value)
        for variant, size, value in printed.select("variant", "size", "value").rows()
    }
