"""What the papers derive from others of their numbers, recomputed from the numbers that they print."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import total
from tokbench.published import facts, tidy_facts
from tokbench.published.agreement import Statistic, judged
from tokbench.statistics.rounding import Span, printed_span, signed_rank_span, statistic_span

SIZES = [32768, 40960, 49152]
TEN = "pathpiece"
Row = dict[str, str]
Recomputed = tuple[Span | None, str]
RANDOM = "random guessing"


@cache
def recompute() -> tuple[Statistic, ...]:
    """All rows of :func:`tokbench.published.facts.statistics`, each beside its own recomputation."""
    known: Mapping[str, Callable[[Row], Recomputed]] = {
        "average_accuracy": _average,
        "rank": _rank,
        "wilcoxon_p": _wilcoxon,
        "r_squared": _r_squared,
        "pearson_r": _pearson,
        "removed_percent": _share_of_vocabulary("removed_tokens"),
        "unique_percent": _share_of_vocabulary("unique_tokens"),
        "improvement_percent:tokens_per_word": _improvement,
        "improvement_percent:unigram_objective": _improvement,
    }
    return tuple(judged(row, *known[row["statistic"]](row)) for row in _rows())


def _rows() -> Iterator[Row]:
    return facts.statistics().iter_rows(named=True)


def _average(row: Row) -> Recomputed:
    if row["a"] == RANDOM:
        guesses = facts.tasks().filter(paper=row["paper"])["random"].to_list()
        mean = sum(guesses) / len(guesses)
        return Span(mean, mean, mean), ""
    sizes = [int(row["size"])] if row["size"] else SIZES
    span = tidy_facts.average_span(row["paper"], row["model"], row["a"], sizes)
    return span, "" if span else f"accuracies of the {row['model']} models are printed as averages alone"


def _rank(row: Row) -> Recomputed:
    """Rank of the average among the variants that the same table ranks."""
    same = facts.statistics().filter(paper=row["paper"], where=row["where"], statistic="rank", model=row["model"])
    sizes = [int(row["size"])] if row["size"] else SIZES
    found = {name: tidy_facts.average_span(row["paper"], row["model"], name, sizes) for name in same["a"]}
    averages = {name: span for name, span in found.items() if span is not None}
    if len(averages) < len(found):
        return None, f"accuracies of the {row['model']} models are printed as averages alone"
    own = averages[row["a"]]
    others = [span for name, span in averages.items() if name != row["a"]]
    best = 1 + sum(span.low > own.high for span in others)
    worst = 1 + sum(span.high > own.low for span in others)
    return Span(best, 1 + sum(span.value > own.value for span in others), worst), ""


def _wilcoxon(row: Row) -> Recomputed:
    sizes = [int(row["size"])] if row["size"] else SIZES
    cells = tidy_facts.spans(TEN)
    tasks = facts.tasks().filter(paper=TEN)["task"].to_list()
    first, second = ([cells[row["model"], row[side], size, task] for size in sizes for task in tasks] for side in "ab")
    allowed = signed_rank_span(first, second)
    as_printed = signed_rank_span(*([_exact(span) for span in side] for side in (first, second)))
    return Span(min(allowed.low, as_printed.low), allowed.value, max(allowed.high, as_printed.high)), ""


def _exact(span: Span) -> Span:
    return Span(span.value, span.value, span.value)


def _averages(sizes: list[int]) -> list[Span]:
    """Average accuracies of the 18 variants at each size, size by size."""
    names = sorted(tidy_facts.main_runs()["variant"].unique())
    found = [tidy_facts.average_span(TEN, tidy_facts.MODEL, name, [size]) for size in sizes for name in names]
    return [span for span in found if span is not None]


def _r_squared(row: Row) -> Recomputed:
    return statistic_span(lambda values: _r(values) ** 2, _averages([int(row["a"]), int(row["b"])])), ""


def _pearson(row: Row) -> Recomputed:
    sides = []
    names = sorted(tidy_facts.main_runs()["variant"].unique())
    for side in "ab":
        if row[side] == "average_accuracy":
            sides += _averages(SIZES)
        else:
            measured = tidy_facts.measured_spans(row[side])
            sides += [measured[name, size] for size in SIZES for name in names]
    return statistic_span(_r, sides), ""


def _r(values: NDArray[np.float64]) -> float:
    """Pearson's r of the first half of the values with the second."""
    first, second = (side - side.mean() for side in np.split(values, 2))
    return total(first * second) / sqrt(total(first * first) * total(second * second))


def _printed(row: Row, metric: str, corpus: str, variant: str) -> Span:
    chosen = facts.cells().filter(
        paper=row["paper"], metric=metric, corpus=corpus, variant=variant, size=int(row["size"])
    )
    return printed_span(chosen["value"].item())


def _improvement(row: Row) -> Recomputed:
    """Percent by which a is nearer zero than b: (b - a) / b, of tokens per word or of the objective."""
    metric = row["statistic"].partition(":")[2]
    a, b = (_printed(row, metric, row["model"], row[side]) for side in "ab")
    return statistic_span(lambda values: float(100 * (values[1] - values[0]) / values[1]), [a, b]), ""


def _share_of_vocabulary(metric: str) -> Callable[[Row], Recomputed]:
    def share(row: Row) -> Recomputed:
        count = float(_printed(row, metric, row["b"], row["a"]).value)
        percent = 100 * count / int(row["size"])
        return Span(percent, percent, percent), ""

    return share
