"""The papers' numbers, read from the files of this package; printed numbers stay text, so that no digit is lost.

The facts as the tidy tables that statistics take, and what each printed number can stand for.

What printed numbers allow: the values that round to them, and how far a statistic of them can move.

One printed number beside the same number recomputed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import cache
from importlib.resources import files
from math import ceil, floor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.cells import ACCURACY, INTRINSIC
from tokbench.statistics.wilcoxon import Null, signed_rank

PAPERS = {
    "pathpiece": "Tokenization Is More Than Compression",
    "greedtok": "A Partition Cover Approach to Tokenization",
    "picky_bpe": "BPE Gets Picky",
    "bytespan": "ByteSpan: Information-Driven Subword Tokenisation",
}
"""Titles, by the name that the files and the experiments give a paper."""


@cache
def cells() -> pl.DataFrame:
    """Every number that the papers print of one tokenizer or of one model.

    Returns:
        ``paper``, ``where`` (table), ``corpus``, ``model``, ``variant``, ``size`` (tokens with the 256 bytes, Int64),
        ``task`` (of translations whether vocabularies are ``joint`` or ``separate``, whose size is then that of each
        side), ``metric`` (``comet_bold``, 1, where the paper prints COMET in bold), ``unit``, ``value`` (as printed);
        empty text where a column does not apply.
    """
    return _read("cells").cast({"size": pl.Int64})


@cache
def statistics() -> pl.DataFrame:
    """Numbers that the papers derive from others of their numbers.

    Returns:
        ``paper``, ``where``, ``statistic``, ``model``, ``size`` (empty text for all sizes), ``a`` and ``b`` (what is
        compared), ``relation`` (``=``, or ``<=`` and ``>`` where the text states a bound), ``value`` (as printed),
        ``note`` (what else the paper prints).
    """
    return _read("statistics")


@cache
def variants() -> pl.DataFrame:
    """The papers' tokenizers as recipes of ours.

    Returns:
        ``paper``, ``variant``, ``label`` (as printed), ``pretokenization`` (one of several, separated by ``|``),
        ``construction``, ``initial``, ``segmentation`` (likewise), ``options``
        (``phase.option=value``, separated by ``;``), ``budget`` (``option=value`` of its language models, or an
        option alone that is set to whatever; one of several, separated by ``|``; empty where it tells no variants
        apart).
    """
    return _read("variants")


@cache
def tasks() -> pl.DataFrame:
    """The papers' tasks: ``paper``, ``task``, ``lm_eval`` (the harness's name), ``questions`` and ``random`` (percent),
    both null where they are not needed. The numbers of questions are those of the harness's splits."""
    return _read("tasks").with_columns(
        pl.col("questions").cast(pl.Int64, strict=False), pl.col("random").cast(pl.Float64, strict=False)
    )


@cache
def regions() -> pl.DataFrame:
    """The regions of the papers' Venn diagrams, in tokens; columns as in a run's table ``venn``, and ``paper``,
    ``where``."""
    frame = _read("regions")
    names = ("paper", "where", "a", "b", "c")
    return frame.cast({name: pl.Int64 for name in frame.columns if name not in names})


@cache
def lacking() -> pl.DataFrame:
    """What of the papers cannot be recomputed: ``paper``, ``where``, ``what``, ``why``."""
    return _read("lacking")


@cache
def labels(paper: str) -> dict[str, str]:
    """What a paper calls its variants."""
    return dict(variants().filter(paper=paper).select("variant", "label").iter_rows())


def _read(name: str) -> pl.DataFrame:
    path = files(__package__).joinpath(f"{name}.csv")
    return pl.read_csv(path.read_bytes(), infer_schema=False).fill_null("")


SLACK = 1e-9
"""Beyond the ends of an interval, so that a value on the end itself lies inside."""
_NULLS: tuple[Null, ...] = ("tied", "untied")


@dataclass(frozen=True, slots=True)
class PrintedValue:
    """A printed value and the least and greatest value that it can stand for."""

    low: float
    value: float
    high: float

    def scaled(self, factor: float) -> "PrintedValue":
        """In another unit."""
        return PrintedValue(self.low * factor, self.value * factor, self.high * factor)

    def meets(self, other: "PrintedValue") -> bool:
        """Whether the two can stand for the same value."""
        slack = SLACK * max(abs(self.value), abs(other.value), 1e-300)
        return self.low <= other.high + slack and other.low <= self.high + slack


def printed_span(text: str) -> PrintedValue:
    """What a decimal number stands for: half a unit of its last printed digit either way."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    half = Decimal(5).scaleb(int(exponent) - 1)
    return PrintedValue(float(number - half), float(number), float(number + half))


def share_span(text: str, questions: int | None) -> PrintedValue:
    """What a printed percentage of right answers stands for.

    A share of n questions is k / n for a whole k, and only those that print as the text are allowed; where the task has
    few questions that is a single one. Harnesses print shares with four decimals, which may have been rounded again, so
    k / n is rounded to four decimals first.

    Args:
        text: a percentage with one decimal or more.
        questions: how many the task has; None where it is not known.

    Returns:
        Least, nearest and greatest share, in percent. Half a unit either way where the number of questions is unknown
        or no whole number of right answers prints so.
    """
    span = printed_span(text)
    if questions is None:
        return span
    counts = range(floor(span.low * questions / 100) - 1, ceil(span.high * questions / 100) + 2)
    shares = [round(round(count / questions, 4) * 100, 2) for count in counts]
    allowed = [share for share in shares if span.low - SLACK <= share <= span.high + SLACK]
    if not allowed:
        return span
    return PrintedValue(min(allowed), min(allowed, key=lambda share: (abs(share - span.value), share)), max(allowed))


def signed_rank_span(first: Sequence[PrintedValue], second: Sequence[PrintedValue]) -> PrintedValue:
    """P-value of the one-sided signed-rank test over pairs of values that are known so far only.

    The statistic never falls when a difference grows (it counts the pairs of differences, each with itself too, whose
    sum is positive), so the two corners, all differences least and all greatest, bound it. The p-value is taken there
    and at the values themselves, by the null that knows of ties and by the one that does not.
    """
    middle = [a.value - b.value for a, b in zip(first, second, strict=True)]
    greatest = [a.high - b.low for a, b in zip(first, second, strict=True)]
    least = [a.low - b.high for a, b in zip(first, second, strict=True)]
    found = [signed_rank(differences, null).p_value for differences in (middle, greatest, least) for null in _NULLS]
    return PrintedValue(min(found), found[0], max(found))


def statistic_span(statistic: Callable[[NDArray[np.float64]], float], values: Sequence[PrintedValue]) -> PrintedValue:
    """How far a smooth statistic of many values can move within their spans.

    From the values themselves, it climbs: each value goes to the end that the slope points to, until none moves. The
    ends of the span are therefore attained, and any number between them; the true extremes may lie further out.

    Args:
        statistic: of float64 [n], such as a correlation.
        values: n spans.
    """
    middle = np.array([span.value for span in values])
    low, high = np.array([span.low for span in values]), np.array([span.high for span in values])
    ends = [_climb(statistic, middle, low, high, sign) for sign in (-1, 1)]
    value = statistic(middle)
    return PrintedValue(min(*ends, value), value, max(*ends, value))


def _climb(
    statistic: Callable[[NDArray[np.float64]], float],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    sign: int,
    rounds: int = 20,
) -> float:
    """The statistic at the corner of the box that the slope leads to, downwards for a sign of -1."""
    here = start
    for _ in range(rounds):
        slope = np.empty_like(here)
        for place, room in enumerate((high - low).tolist()):
            moved = here.copy()
            step = max(room, SLACK) / 100
            moved[place] += step
            slope[place] = (statistic(moved) - statistic(here)) * sign
        corner = np.where(slope > 0, high, low)
        if np.array_equal(corner, here) or sign * statistic(corner) <= sign * statistic(here) + SLACK * SLACK:
            break
        here = corner
    return statistic(here)


SUITE = {"pathpiece": "ten tasks", "greedtok": "eleven tasks"}
"""Names of the papers' sets of tasks."""
MODEL = "350M"
"""The model of "Tokenization Is More Than Compression" that every variant was trained with."""
APART = ("randtrain_", "pathpiece_ngram_space_digit")
"""Variants that are no part of the 18: those of appendix F, and one that was trained at 1.3B alone."""


@cache
def spans(paper: str) -> dict[tuple[str, str, int, str], PrintedValue]:
    """What each accuracy can stand for, in percent, by model, variant, size and task."""
    questions = dict(tasks().filter(paper=paper).select("task", "questions").iter_rows())
    printed = cells().filter(paper=paper, metric="accuracy")
    rows = printed.select("model", "variant", "size", "task", "value").iter_rows()
    return {
        (model, variant, size, task): share_span(value, questions[task]) for model, variant, size, task, value in rows
    }


@cache
def accuracy(paper: str) -> pl.DataFrame:
    """The paper's accuracies in the columns of :data:`tokbench.statistics.cells.ACCURACY`, each the share of right
    answers nearest to what is printed, see :func:`tokbench.published.facts.share_span`."""
    of_tasks = {task: (questions, random) for _, task, _, questions, random in tasks().filter(paper=paper).rows()}
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


def average_span(paper: str, model: str, variant: str, sizes: list[int]) -> PrintedValue | None:
    """What the average accuracy can be, in percent, over all tasks and the sizes; None where a cell is not printed."""
    task_names = tasks().filter(paper=paper)["task"].to_list()
    known = spans(paper)
    keys = [(model, variant, size, task) for size in sizes for task in task_names]
    if not keys or any(key not in known for key in keys):
        return None
    found = [known[key] for key in keys]
    return PrintedValue(
        *(sum(values) / len(found) for values in zip(*((s.low, s.value, s.high) for s in found), strict=True))
    )


@cache
def intrinsic() -> pl.DataFrame:
    """Token counts and Rényi efficiencies of "Tokenization Is More Than Compression", table 11, in the columns of
    :data:`tokbench.statistics.cells.INTRINSIC`."""
    printed = cells().filter(paper="pathpiece", where="Table 11")
    scale = pl.when(pl.col("unit") == "billions").then(1e9).otherwise(1.0)
    return printed.with_columns(
        language=pl.lit(""),
        definition=pl.when(pl.col("unit") == "billions").then(pl.lit("tokens")).otherwise(pl.lit("nominal size")),
        value=pl.col("value").cast(pl.Float64) * scale,
        n=pl.lit(1, pl.Int64),
        reason=pl.lit(None, pl.String),
    ).select(list(INTRINSIC))


def measured_spans(metric: str) -> dict[tuple[str, int], PrintedValue]:
    """What each value of a metric of table 11 can stand for, as printed, by variant and size."""
    printed = cells().filter(paper="pathpiece", where="Table 11", metric=metric)
    return {
        (variant, size): printed_span(value)
        for variant, size, value in printed.select("variant", "size", "value").rows()
    }


SAME = "same"
WITHIN = "within rounding"
DIFFERS = "differs"
MISSING = "not recomputable"
VERDICTS = {
    SAME: "what was recomputed from the numbers as printed, rounded to the digits of the paper, is the paper's "
    "number, or keeps the bound that the paper states",
    WITHIN: "the paper's number can come from values that round to the numbers printed",
    DIFFERS: "it cannot",
    MISSING: "the paper does not print what it was computed from",
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number that a paper derives from others.

    Attributes:
        paper, where: the paper and its table, figure or section.
        statistic: what it is.
        model, size: of what models and vocabulary sizes; empty for all.
        a, b: what is compared; ``b`` empty for a number of one thing.
        relation: ``=``, ``<=`` or ``>``.
        published: the number as printed.
        ours: recomputed from the printed numbers; None where that is impossible.
        low, high: what it can be within their rounding.
        verdict: one of :data:`VERDICTS`.
        note: what else is to be said.
    """

    paper: str
    where: str
    statistic: str
    model: str
    size: str
    a: str
    b: str
    relation: str
    published: str
    ours: float | None
    low: float | None
    high: float | None
    verdict: str
    note: str = ""


def judged(row: dict[str, str], ours: PrintedValue | None, note: str = "") -> Statistic:
    """The printed number beside ours.

    Args:
        row: a row of :func:`tokbench.published.facts.statistics`.
        ours: the recomputed value and what rounding allows; None where the numbers it needs are not printed.
        note: a remark, or why there is none of ours.
    """
    value, low, high = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
    return Statistic(
        paper=row["paper"],
        where=row["where"],
        statistic=row["statistic"],
        model=row["model"],
        size=row["size"],
        a=row["a"],
        b=row["b"],
        relation=row["relation"],
        published=row["value"],
        ours=value,
        low=low,
        high=high,
        verdict=MISSING if ours is None else _verdict(row["relation"], row["value"], ours),
        note="; ".join(filter(None, (row["note"], note))),
    )


def _verdict(relation: str, printed: str, ours: PrintedValue) -> str:
    if relation == "=":
        if _rounds_to(ours.value, printed):
            return SAME
        return WITHIN if printed_span(printed).meets(ours) else DIFFERS
    bound = float(printed)
    holds = [value <= bound if relation == "<=" else value > bound for value in (ours.value, ours.low, ours.high)]
    return SAME if holds[0] else WITHIN if any(holds) else DIFFERS


def _rounds_to(value: float, printed: str) -> bool:
    """Whether the value prints so; one that lies half-way between two prints as either."""
    number = Decimal(printed)
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    near = Decimal(repr(value))
    slack = abs(near) * Decimal(SLACK)
    return any(
        (near + shift).quantize(step, rounding) == number
        for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)
        for shift in (-slack, slack)
    )
