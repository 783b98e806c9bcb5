"""Published numbers, read from the CSV files of this package, and comparison of each with a recomputed number.

Printed numbers stay text, so that no digit is lost. They are also returned as tidy tables for the statistics. For each
number there is the span of values that round to it, and for statistics the span that follows from these.
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
from tokbench.statistics.significance.wilcoxon import Null, signed_rank

PAPERS = {
    "pathpiece": "Tokenization Is More Than Compression",
    "greedtok": "A Partition Cover Approach to Tokenization",
    "picky_bpe": "BPE Gets Picky",
    "bytespan": "ByteSpan: Information-Driven Subword Tokenisation",
}
"""Titles by the short name of a paper in files and experiments."""
SLACK = 1e-9
"""Tolerance at the ends of an interval, so that a value at an end is inside."""
_NULLS: tuple[Null, ...] = ("tied", "untied")
SUITE = {"pathpiece": "ten tasks", "greedtok": "eleven tasks"}
"""Names of the papers' sets of tasks."""
MODEL = "350M"
"""Model of "Tokenization Is More Than Compression" with which every variant was trained."""
OUTSIDE_PREFIXES = ("randtrain_", "pathpiece_ngram_space_digit")
"""Prefixes of variants outside the 18: those of appendix F, and one that was trained only at 1.3B."""
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


@cache
def cells() -> pl.DataFrame:
    """Return every number that the papers print for one tokenizer or one model.

    Returns:
        ``paper``, ``where`` (table), ``corpus``, ``model``, ``variant``, ``size`` (tokens including the 256 bytes,
        Int64), ``task``, ``metric``, ``unit``, ``value`` (as printed). Text is empty if a column does not apply. For
        translations ``task`` is ``joint`` or ``separate`` vocabularies; ``size`` is that of each side if separate. The
        metric ``comet_bold`` is 1 if the paper prints COMET in bold.
    """
    return _read("cells").cast({"size": pl.Int64})


@cache
def statistics() -> pl.DataFrame:
    """Return numbers that the papers derive from others of their numbers.

    Returns:
        ``paper``, ``where``, ``statistic``, ``model``, ``size`` (empty for all sizes), ``a`` and ``b`` (items
        compared), ``relation`` (``=``, or ``<=`` and ``>`` if the text states a bound), ``value`` (as printed),
        ``note`` (further printed remarks).
    """
    return _read("statistics")


@cache
def variants() -> pl.DataFrame:
    """Return the papers' tokenizers as recipes of Tokbench.

    Returns:
        ``paper``, ``variant``, ``label`` (as printed), ``pretokenization`` (alternatives separated by ``|``),
        ``construction``, ``initial``, ``segmentation`` (alternatives separated by ``|``), ``options``
        (``phase.option=value``, separated by ``;``), ``budget``. The budget of its language models is
        ``option=value``, or an option without value for any value; alternatives are separated by ``|``. It is empty if
        budgets do not distinguish variants.
    """
    return _read("variants")


@cache
def tasks() -> pl.DataFrame:
    """Return the papers' tasks: ``paper``, ``task``, ``lm_eval`` (the harness's name), ``questions``, ``random``.

    ``random`` is in percent. Both numbers are null if they are not needed. Questions are those of the harness's splits.
    """
    return _read("tasks").with_columns(
        pl.col("questions").cast(pl.Int64, strict=False), pl.col("random").cast(pl.Float64, strict=False)
    )


@cache
def regions() -> pl.DataFrame:
    """Return the regions of the papers' Venn diagrams, in tokens.

    Columns are those of a run's table ``venn``, and ``paper``, ``where``.
    """
    frame = _read("regions")
    names = ("paper", "where", "a", "b", "c")
    return frame.cast({name: pl.Int64 for name in frame.columns if name not in names})


@cache
def lacking() -> pl.DataFrame:
    """Return published items that cannot be recomputed: ``paper``, ``where``, ``what``, ``why``."""
    return _read("lacking")


@cache
def labels(paper: str) -> dict[str, str]:
    """Return a paper's printed names of its variants."""
    return dict(variants().filter(paper=paper).select("variant", "label").iter_rows())


def _read(name: str) -> pl.DataFrame:
    path = files(__package__).joinpath(f"{name}.csv")
    return pl.read_csv(path.read_bytes(), infer_schema=False).fill_null("")


@dataclass(frozen=True, slots=True)
class PrintedValue:
    """A printed value, and the least and greatest value that it may represent."""

    low: float
    value: float
    high: float

    def meets(self, other: "PrintedValue") -> bool:
        """Return True if both may represent the same value."""
        slack = SLACK * max(abs(self.value), abs(other.value), 1e-300)
        return self.low <= other.high + slack and other.low <= self.high + slack


def printed_span(text: str) -> PrintedValue:
    """Return the span of a decimal number: half a unit of its last printed digit on either side."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    half = Decimal(5).scaleb(int(exponent) - 1)
    return PrintedValue(float(number - half), float(number), float(number + half))


def share_span(text: str, questions: int | None) -> PrintedValue:
    """Return the span of a printed percentage of right answers.

    A share of n questions is k / n for an integer k, and only shares that print as the text are allowed. For a task
    with
    few questions there is only one. Harnesses print shares with four decimals, which may have been rounded again, so
    k / n is rounded to four decimals first.

    Args:
        text: percentage with one decimal or more.
        questions: number of questions of the task; None if unknown.

    Returns:
        Least, nearest and greatest share, in percent. Half a unit on either side if the number of questions is unknown
        or no integer number of right answers prints as the text.
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
    """Return the span of the p-value of the one-sided signed-rank test over pairs of spans.

    The statistic counts pairs of differences (each also with itself) whose sum is positive, so it never falls when a
    difference grows. All differences at their least and all at their greatest therefore bound it. P-values are computed
    there and at the values themselves, with the null distribution under ties and the one without.
    """
    middle = [a.value - b.value for a, b in zip(first, second, strict=True)]
    greatest = [a.high - b.low for a, b in zip(first, second, strict=True)]
    smallest = [a.low - b.high for a, b in zip(first, second, strict=True)]
    p_values = [
        signed_rank(differences, null).p_value for differences in (middle, greatest, smallest) for null in _NULLS
    ]
    return PrintedValue(min(p_values), p_values[0], max(p_values))


def statistic_span(statistic: Callable[[NDArray[np.float64]], float], values: Sequence[PrintedValue]) -> PrintedValue:
    """Return the span of a smooth statistic of many values within their spans.

    Starting at the values, each value moves to the end of its span in the direction of the slope, until none moves.
    All numbers between the two results are attained; the true extremes may be further apart.

    Args:
        statistic: function of float64 [n], such as a correlation.
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
    """Return the statistic at the corner of the box found by ascent, or by descent for ``sign`` -1."""
    point = start
    for _ in range(rounds):
        slope = np.empty_like(point)
        for place, room in enumerate((high - low).tolist()):
            moved = point.copy()
            step = max(room, SLACK) / 100
            moved[place] += step
            slope[place] = (statistic(moved) - statistic(point)) * sign
        corner = np.where(slope > 0, high, low)
        if np.array_equal(corner, point) or sign * statistic(corner) <= sign * statistic(point) + SLACK * SLACK:
            break
        point = corner
    return statistic(point)


@cache
def spans(paper: str) -> dict[tuple[str, str, int, str], PrintedValue]:
    """Return the span of each accuracy, in percent, by model, variant, size and task."""
    questions = dict(tasks().filter(paper=paper).select("task", "questions").iter_rows())
    printed = cells().filter(paper=paper, metric="accuracy")
    rows = printed.select("model", "variant", "size", "task", "value").iter_rows()
    return {
        (model, variant, size, task): share_span(value, questions[task]) for model, variant, size, task, value in rows
    }


@cache
def accuracy(paper: str) -> pl.DataFrame:
    """Return the paper's accuracies in the columns of :data:`tokbench.statistics.cells.ACCURACY`.

    Each is the share of right answers nearest to the printed number, see :func:`share_span`.
    """
    of_tasks = {task: (questions, random) for _, task, _, questions, random in tasks().filter(paper=paper).rows()}
    rows = []
    for (model, variant, size, task), span in spans(paper).items():
        questions, random = of_tasks[task]
        guess = None if random is None else random / 100
        head = {"variant": variant, "size": size, "model": model, "suite": SUITE[paper], "task": task}
        rows.append(head | {"accuracy": span.value / 100, "random_baseline": guess, "n": questions})
    return pl.DataFrame(rows, schema=ACCURACY)


def main_runs() -> pl.DataFrame:
    """Return accuracies of the 18 variants at three sizes under the 350M models."""
    return accuracy("pathpiece").filter(
        pl.col("model") == MODEL, *(~pl.col("variant").str.starts_with(p) for p in OUTSIDE_PREFIXES)
    )


def average_span(paper: str, model: str, variant: str, sizes: list[int]) -> PrintedValue | None:
    """Return the span of the average accuracy over tasks and sizes, in percent; None if a cell is not printed."""
    task_names = tasks().filter(paper=paper)["task"].to_list()
    known = spans(paper)
    keys = [(model, variant, size, task) for size in sizes for task in task_names]
    if not keys or any(key not in known for key in keys):
        return None
    cells = [known[key] for key in keys]
    return PrintedValue(
        *(sum(values) / len(cells) for values in zip(*((s.low, s.value, s.high) for s in cells), strict=True))
    )


@cache
def intrinsic() -> pl.DataFrame:
    """Return token counts and Rényi efficiencies of "Tokenization Is More Than Compression", table 11.

    Columns are those of :data:`tokbench.statistics.cells.INTRINSIC`.
    """
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
    """Return the span of each value of a metric of table 11, in printed units, by variant and size."""
    printed = cells().filter(paper="pathpiece", where="Table 11", metric=metric)
    return {
        (variant, size): printed_span(value)
        for variant, size, value in printed.select("variant", "size", "value").rows()
    }


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number that a paper derives from other numbers, and its recomputation.

    Attributes:
        paper, where: the paper and its table, figure or section.
        statistic: name of the statistic.
        model, size: models and vocabulary sizes; empty for all.
        a, b: items compared; ``b`` is empty for a number of one item.
        relation: ``=``, ``<=`` or ``>``.
        published: the number as printed.
        ours: recomputed from the printed numbers; None if that is impossible.
        low, high: span of ``ours`` within the rounding of the printed numbers.
        verdict: one of :data:`VERDICTS`.
        note: remark (default: none).
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


def judge(row: dict[str, str], ours: PrintedValue | None, note: str = "") -> Statistic:
    """Compare a printed number with its recomputation.

    Args:
        row: a row of :func:`tokbench.published.facts.statistics`.
        ours: recomputed value and its span; None if the required numbers are not printed.
        note: remark, or the reason why ``ours`` is None (default: none).
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
    """Return True if the value prints as ``printed``; a value half-way between two numbers prints as either."""
    number = Decimal(printed)
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    near = Decimal(repr(value))
    slack = abs(near) * Decimal(SLACK)
    return any(
        (near + shift).quantize(step, rounding) == number
        for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)
        for shift in (-slack, slack)
    )
