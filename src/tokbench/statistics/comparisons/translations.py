"""Comparison of translation models: paired bootstrap over sentences (Koehn 2004), and paired t test.

Models that differ only in the seed are one model. A sentence is drawn with the translations of all seeds, and the score
is that of all of them together. Intervals are over sentences, not over seeds. With fewer than three seeds nothing is
tested, see :mod:`tokbench.statistics.significance.verdicts`.

BLEU and chrF of a sample are computed from integer statistics of its sentences, without their text.
"""

from collections.abc import Callable
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.significance.distributions import chi_squared_tail
from tokbench.statistics.significance.eligibility import why_untested
from tokbench.statistics.significance.student import two_sided
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.columns import SYSTEM, TRANSLATION_METRIC, A, B
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

RESAMPLES = 1000
CHRF_ORDER, CHRF_BETA = 6, 2
Counts = NDArray[np.int64]
Scores = NDArray[np.float64]
Score = Callable[[Counts], Scores]
KEYS = [column.name for column in SYSTEM] + ["metric"]


def bleu(sums: Counts) -> Scores:
    """Return BLEU (Papineni et al. 2002) as in sacrebleu's defaults, with exponential smoothing.

    Args:
        sums: int64 [..., 10]: tokens of the translations, tokens of the references, matching n-grams for n from 1 to 4,
            and n-grams of the translations for n from 1 to 4.

    Returns:
        Scores from 0 to 100, float64 [...].
    """
    ours, theirs = sums[..., 0].astype(float), sums[..., 1].astype(float)
    common, total = sums[..., 2:6], sums[..., 6:10]
    halvings = np.cumsum((common == 0) & (total > 0), axis=-1)
    smoothed = np.where(common == 0, 0.5**halvings, common)
    whole = (total > 0).all(-1) & (common > 0).any(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed / np.where(total > 0, total, 1)).mean(-1)
        brevity = np.where(ours < theirs, 1.0 - theirs / ours, 0.0)
    return np.where(whole, 100.0 * np.exp(logs + np.where(whole, brevity, 0.0)), 0.0)


def chrf(sums: Counts) -> Scores:
    """Return chrF2 (Popović 2015) as in sacrebleu's defaults.

    Precision and recall are first averaged over the orders that both sides have.

    Args:
        sums: int64 [..., 18]: for each n from 1 to 6 the character n-grams of the translations, of the references, and
            the matching ones.

    Returns:
        Scores from 0 to 100, float64 [...].
    """
    ours, theirs, common = (sums[..., place::3].astype(float) for place in range(3))
    in_both = (ours > 0) & (theirs > 0)
    orders = np.maximum(in_both.sum(-1), 1)
    precision = np.where(in_both, common / np.maximum(ours, 1), 0.0).sum(-1) / orders
    recall = np.where(in_both, common / np.maximum(theirs, 1), 0.0).sum(-1) / orders
    factor = CHRF_BETA**2
    below = factor * precision + recall
    return 100.0 * np.where(below > 0, (1 + factor) * precision * recall / np.where(below > 0, below, 1.0), 0.0)


def mean(sums: Any) -> Scores:
    """Return the mean of sentence scores from [..., 2]: sum of the scores and their number."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def resample_scores(statistics: Any, score: Score, *, resamples: int = RESAMPLES, seed: int = 0) -> Scores:
    """Return scores of samples of sentences that are drawn with replacement (Koehn 2004).

    Systems that translate the same sentences get the same draws, so their scores are paired.

    Args:
        statistics: statistics of each sentence, [sentences, numbers].
        score: function that maps their sums to a score.
        resamples: number of samples (default: 1000).
        seed: seed of the draws (default: 0).

    Returns:
        Scores, float64 [resamples].
    """
    count = len(statistics)
    draws = np.random.default_rng(seed).integers(count, size=(resamples, count))
    return score(np.stack([np.bincount(numbers, minlength=count) @ statistics for numbers in draws]))


SCORES: dict[str, Score] = {"BLEU": bleu, "chrF": chrf, "COMET": mean}


def translation_comparisons(sentences: pl.DataFrame) -> pl.DataFrame:
    """Compare every two tokenizers of one model on one test by one metric.

    Args:
        sentences: table ``translation_sentences``; models that differ only in the seed share a name.

    Returns:
        The columns of :data:`TRANSLATION_COMPARISONS`. A pair has no row if their sentences differ.
    """
    rows = []
    for names, part in sentences.group_by(KEYS, maintain_order=True):
        of = dict(zip(KEYS, names, strict=True))
        systems = {
            str(tokenizers): sum_sentences(of_system, str(of["metric"]))
            for (tokenizers,), of_system in part.group_by("tokenizers", maintain_order=True)
        }
        samples = {
            name: resample_scores(statistics, SCORES[str(of["metric"])])
            for name, (_, statistics, _) in systems.items()
            if len(statistics)
        }
        pairs = [
            {**of, "a": a, "b": b, **_comparison(a, b, systems, samples, SCORES[str(of["metric"])])}
            for a, b in combinations(systems, 2)
            if systems[a][0] == systems[b][0]
        ]
        adjusted = iter(holm([row["p_value"] for row in pairs if row["p_value"] is not None]).tolist())
        rows += [row | {"holm": None if row["p_value"] is None else next(adjusted)} for row in pairs]
    return pl.DataFrame(rows, schema=TRANSLATION_COMPARISONS.schema)


def sum_sentences(sentences: pl.DataFrame, metric: str) -> tuple[list[tuple[int, int]], Any, NDArray[np.float64]]:
    """Sum the sentences of one model, pair of tokenizers and metric over seeds.

    Returns:
        Sentences with their numbers of translations, their statistics and their mean scores, in the same order.
    """
    pairs: list[tuple[int, int]] = []
    statistics, values = [], []
    for (pair,), part in sentences.sort("pair", maintain_order=True).group_by("pair", maintain_order=True):
        pairs.append((int(str(pair)), part.height))
        values.append(float(part["value"].to_numpy().mean()))
        if metric == "COMET":
            statistics.append(np.array([part["value"].sum(), part.height], float))
        else:
            counts = [[int(number) for number in line.split()] for line in part["statistics"].to_list()]
            statistics.append(np.array(counts, np.int64).sum(0))
    return pairs, np.array(statistics), np.array(values)


def _comparison(a: str, b: str, systems: dict[str, Any], samples: dict[str, Any], score: Score) -> dict[str, Any]:
    (pairs, ours, our_values), (_, theirs, their_values) = systems[a], systems[b]
    score_a, score_b = float(score(ours.sum(0))), float(score(theirs.sum(0)))
    differences = samples[a] - samples[b]
    low, high = np.quantile(differences, [0.025, 0.975]).tolist()
    one_sided = (1 + int((differences <= 0).sum())) / (1 + RESAMPLES)
    seeds = min(count for _, count in pairs)
    tests: dict[str, float | None] = {
        "bootstrap_p": one_sided,
        "p_value": _normal(score_a - score_b, float(differences.std(ddof=1))),
        "t_test_p": _t_test(our_values - their_values),
    }
    return {
        "score_a": score_a,
        "score_b": score_b,
        "difference": score_a - score_b,
        "low": low,
        "high": high,
        **(dict.fromkeys(tests) if why_untested(seeds) else tests),
        "n": len(pairs),
        "seeds": seeds,
    }


def _normal(difference: float, error: float) -> float:
    """Return the two-sided p-value of a difference by the standard error of its resamples; 1 if these do not vary.

    The share of 1,000 resamples beyond zero is never below .001 and could not be significant after correction for 50
    pairs.
    """
    return chi_squared_tail((difference / error) ** 2, 1) if error else 1.0


def _t_test(differences: NDArray[np.float64]) -> float | None:
    """Return the two-sided p-value of the mean paired difference; None for fewer than two or without variation."""
    count = len(differences)
    spread = float(differences.std(ddof=1)) if count > 1 else 0.0
    return two_sided(float(differences.mean()) / (spread / sqrt(count)), count - 1) if spread else None


TRANSLATION_COMPARISONS = TidyTable(
    "translation_comparisons",
    "two tokenizers of one translation model on a test by a metric",
    (
        *SYSTEM,
        TRANSLATION_METRIC,
        A,
        B,
        Column("score_a", pl.Float64, "score of a", decimals=2, heading="a’s"),
        Column("score_b", pl.Float64, "score of b", decimals=2, heading="b’s"),
        Column("difference", pl.Float64, "score of a minus that of b", decimals=2, heading="a − b"),
        Column("low", pl.Float64, "lower end of its 95 % interval, by the paired bootstrap", decimals=2),
        Column("high", pl.Float64, "upper end of this interval", decimals=2),
        Column(
            "bootstrap_p", pl.Float64, "one-sided p-value of the paired bootstrap: share of resamples in which a is "
            "not above b",
            PROBABILITY, "p, bootstrap",
        ),
        Column(
            "p_value", pl.Float64, "two-sided p-value of the difference by the standard error of the same resamples",
            PROBABILITY, "p, two sides",
        ),
        Column(
            "holm", pl.Float64,
            "this p-value after Holm's correction over all pairs of the model, test, size and metric",
            PROBABILITY, "p, Holm",
        ),
        Column(
            "t_test_p", pl.Float64, "two-sided p-value of a paired t test of the sentence scores", PROBABILITY, "p, t",
            empty="no spread between the sentences",
        ),
        Column("n", pl.Int64, "sentences of the test", "sentences"),
        Column("seeds", pl.Int64, "seeds whose translations are pooled; tests need three"),
    ),
    maker=translation_comparisons,
    takes=("translation_sentences",),
    prints=(
        Print(
            "translation",
            "Tokenizers compared by translations of {parallel} from {source_language} into {target_language}, test "
            "{test}, by {model}: paired bootstrap over the sentences, 1,000 resamples, and a paired t test of their "
            "scores. Intervals and tests are over sentences, not over seeds. Holm's correction is over the pairs of "
            "one size and metric. With fewer than three seeds nothing is tested.",
            shown=("size", "metric", "a", "b", "score_a", "score_b", "difference", "low", "high", "bootstrap_p",
                   "holm", "t_test_p", "n", "seeds"),
            by=("parallel", "source_language", "target_language", "test", "model"),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
