"""Cases of the simulation for resampling, for intervals of shares and correlations, and for statistics of papers."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from benchmarks.coverage.cases import Case
from benchmarks.coverage.samples import DISTRIBUTIONS, Floats, Rng, unit_values
from tokbench.statistics.accuracies.correlation import fisher_interval
from tokbench.statistics.accuracies.intervals import average_intervals
from tokbench.statistics.accuracies.measures import clopper_pearson
from tokbench.statistics.comparisons.translations import bleu, resample_scores
from tokbench.statistics.scale.rank_order import kendall, resampled_levels, tau_interval
from tokbench.statistics.significance.verdicts import ALPHA
from tokbench.statistics.significance.wilcoxon import signed_rank

LENGTH = 20
"""Mean number of tokens of a sentence."""
CORRELATION = 0.6


def _sentences(rng: Rng, quality: Floats, lengths: Floats) -> Floats:
    """Return counts of BLEU by sentence: tokens, tokens of the reference, n-grams in common and all n-grams."""
    total = np.stack([np.maximum(lengths - order, 0) for order in range(4)], -1)
    common = rng.binomial(total.astype(np.int64), np.stack([quality ** (order + 1) for order in range(4)], -1))
    return np.concatenate([lengths[:, np.newaxis], lengths[:, np.newaxis], common, total], -1)


def bleu_difference(rng: Rng, sentences: int) -> bool:
    """Draw two equal translation systems; the quality of a sentence is partly common to both."""
    lengths = 4.0 + rng.poisson(LENGTH - 4, sentences)
    common = rng.standard_normal(sentences)
    seed = int(rng.integers(2**31))
    samples = []
    for _ in range(2):
        quality = 1 / (1 + np.exp(-(0.5 + 0.5 * common + 0.5 * rng.standard_normal(sentences))))
        samples.append(resample_scores(_sentences(rng, quality, lengths), bleu, seed=seed))
    low, high = np.quantile(samples[0] - samples[1], [0.025, 0.975])
    return bool(low <= 0 <= high)


def average_accuracy(rng: Rng, questions: int, tasks: int) -> bool:
    """Draw accuracies of tasks with their own probabilities of a right answer."""
    shares = np.linspace(0.3, 0.8, tasks) if tasks > 1 else np.array([0.5])
    frame = pl.DataFrame(
        {
            "model": "m", "suite": "s", "variant": "v", "size": 1000, "task": [f"t{number}" for number in range(tasks)],
            "accuracy": rng.binomial(questions, shares) / questions, "random_baseline": 0.0, "n": questions,
        }
    )  # fmt: skip
    low, high = average_intervals(frame).select("low", "high").row(0)
    return bool(low <= shares.mean() <= high)


def share(rng: Rng, of: int, probability: float) -> bool:
    """Draw a share of pairs that a measure orders as the models do."""
    low, high = clopper_pearson(int(rng.binomial(of, probability)), of)
    return low <= probability <= high


def correlation(rng: Rng, count: int, distribution: str) -> bool:
    """Draw a correlation of two measures over tokenizers."""
    x, y = unit_values(rng, distribution, (2, count))
    y = CORRELATION * x + np.sqrt(1 - CORRELATION**2) * y
    interval = fisher_interval(float(np.corrcoef(x, y)[0, 1]), count)
    return interval is not None and interval[0] <= CORRELATION <= interval[1]


def orders(rng: Rng, seeds: int, documents: int) -> bool:
    """Draw bits per byte of five tokenizers at two scales, with Kendall's tau of their true orders 0.6."""
    truth = 0.02 * np.array([[1.0, 2, 3, 4, 5], [2.0, 1, 3, 5, 4]])
    sizes = np.ones(documents)
    noise = 0.03 * rng.standard_normal((2, 5, seeds, 1)) + 0.01 * rng.standard_normal((2, 5, 1, documents))
    bits = truth[:, :, np.newaxis, np.newaxis] + noise + 0.02 * rng.standard_normal((2, 5, seeds, documents))
    drawn = resampled_levels([*bits[0], *bits[1]], sizes, int(rng.integers(2**31)))
    low, high = tau_interval(kendall(drawn[:5], drawn[5:]))
    return low is not None and high is not None and low - 1e-9 <= 0.6 <= high + 1e-9


def wilcoxon(rng: Rng, cells: int, distribution: str, correlated: float) -> bool:
    """Draw accuracies of two equal variants over cells, which share a part; a false difference at level 0.05."""
    shared = rng.standard_normal()
    values = (1 - correlated) ** 0.5 * unit_values(rng, distribution, (cells,)) + correlated**0.5 * shared
    return signed_rank(values).p_value <= ALPHA


def other_cases(times: int) -> Iterator[Case]:
    """Yield the cases of resampling, shares, correlations and statistics of papers."""
    for seeds in (3, 5, 10):
        for documents in (6, 12, 20):
            draw = partial(orders, seeds=seeds, documents=documents)
            yield Case(
                "bootstrap",
                (f"Kendall's tau of two orders, {seeds} seeds and documents",),
                str(documents),
                draw,
                times // 2,
            )
    for sentences in (20, 50, 200):
        yield Case(
            "bootstrap", ("BLEU of two systems, sentences",), str(sentences),
            partial(bleu_difference, sentences=sentences), times,
        )  # fmt: skip
    for tasks in (1, 5):
        for questions in (10, 50, 200):
            draw = partial(average_accuracy, questions=questions, tasks=tasks)
            yield Case(
                "papers", (f"average accuracy of {tasks} tasks, normal theory",), str(questions), draw, times // 2
            )
    for probability in (0.5, 0.9):
        for of in (10, 50, 200):
            draw = partial(share, of=of, probability=probability)
            yield Case("papers", (f"share of {probability:.0%}, Clopper and Pearson",), str(of), draw, times)
    for distribution in ("normal", "more skewed"):
        for count in (10, 50, 200):
            draw = partial(correlation, count=count, distribution=distribution)
            yield Case("papers", (f"correlation, Fisher's z, {DISTRIBUTIONS[distribution]}",), str(count), draw, times)
    for distribution in ("normal", "more skewed"):
        for correlated in (0.0, 0.2):
            for cells in (6, 12, 36):
                draw = partial(wilcoxon, cells=cells, distribution=distribution, correlated=correlated)
                row = (DISTRIBUTIONS[distribution], f"{correlated:g}")
                yield Case("signed rank", row, str(cells), draw, times)
