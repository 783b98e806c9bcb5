"""Translation models compared: the paired bootstrap over sentences (Koehn 2004), and the paired t test.

Models that differ in the seed alone are one: a sentence is then drawn with the translations of all of them, and the
score is that of all these together. Intervals are over sentences, not over seeds. With fewer than three seeds nothing
is tested, see :mod:`tokbench.statistics.verdicts`.
"""

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.corrections import holm
from tokbench.statistics.student import two_sided
from tokbench.statistics.tails import chi_squared_tail
from tokbench.statistics.verdicts import why_untested
from tokbench.tidy.columns import A, B
from tokbench.tidy.table import PROBABILITY, Column, Print, TidyTable
from tokbench.tidy.translations import METRIC, SYSTEM
from tokbench.translation_scores import RESAMPLES, Score, bleu, chrf, mean, resampled

KEYS = [column.name for column in SYSTEM] + ["metric"]
SCORES: dict[str, Score] = {"BLEU": bleu, "chrF": chrf, "COMET": mean}


def translation_comparisons(sentences: pl.DataFrame) -> pl.DataFrame:
    """Every two tokenizers of one model on one test by one metric.

    Args:
        sentences: the table ``translation_sentences``, siblings by seed under their common name.

    Returns:
        The columns of :data:`TRANSLATION_COMPARISONS`; a pair is missing where one lacks sentences of the other.
    """
    rows = []
    for names, part in sentences.group_by(KEYS, maintain_order=True):
        of = dict(zip(KEYS, names, strict=True))
        systems = {
            str(tokenizers): summed(own, str(of["metric"]))
            for (tokenizers,), own in part.group_by("tokenizers", maintain_order=True)
        }
        samples = {
            name: resampled(statistics, SCORES[str(of["metric"])])
            for name, (_, statistics, _) in systems.items()
            if len(statistics)
        }
        found = [
            {**of, "a": a, "b": b, **_compared(a, b, systems, samples, SCORES[str(of["metric"])])}
            for a, b in combinations(systems, 2)
            if systems[a][0] == systems[b][0]
        ]
        adjusted = iter(holm([row["p_value"] for row in found if row["p_value"] is not None]).tolist())
        rows += [row | {"holm": None if row["p_value"] is None else next(adjusted)} for row in found]
    return pl.DataFrame(rows, schema=TRANSLATION_COMPARISONS.schema)


def summed(own: pl.DataFrame, metric: str) -> tuple[list[tuple[int, int]], Any, NDArray[np.float64]]:
    """The sentences of one model with one pair of tokenizers by one metric, seeds taken together.

    Sentences with how often each was translated, their statistics and their mean scores, all in one order."""
    pairs: list[tuple[int, int]] = []
    statistics, values = [], []
    for (pair,), part in own.sort("pair", maintain_order=True).group_by("pair", maintain_order=True):
        pairs.append((int(str(pair)), part.height))
        values.append(float(part["value"].to_numpy().mean()))
        if metric == "COMET":
            statistics.append(np.array([part["value"].sum(), part.height], float))
        else:
            counts = [[int(number) for number in line.split()] for line in part["statistics"].to_list()]
            statistics.append(np.array(counts, np.int64).sum(0))
    return pairs, np.array(statistics), np.array(values)


def _compared(a: str, b: str, systems: dict[str, Any], samples: dict[str, Any], score: Score) -> dict[str, Any]:
    (pairs, ours, our_values), (_, theirs, their_values) = systems[a], systems[b]
    own, other = float(score(ours.sum(0))), float(score(theirs.sum(0)))
    differences = samples[a] - samples[b]
    low, high = np.quantile(differences, [0.025, 0.975]).tolist()
    one_sided = (1 + int((differences <= 0).sum())) / (1 + RESAMPLES)
    seeds = min(count for _, count in pairs)
    tests: dict[str, float | None] = {
        "bootstrap_p": one_sided,
        "p_value": _normal(own - other, float(differences.std(ddof=1))),
        "t_test_p": _t_test(our_values - their_values),
    }
    return {
        "score_a": own,
        "score_b": other,
        "difference": own - other,
        "low": low,
        "high": high,
        **(dict.fromkeys(tests) if why_untested(seeds) else tests),
        "n": len(pairs),
        "seeds": seeds,
    }


def _normal(difference: float, error: float) -> float:
    """Two-sided p of a difference with the standard error that its resamples have; 1 where these do not vary.

    The share of 1,000 resamples beyond zero is never below .001: after correction for 50 pairs it would tell none.
    """
    return chi_squared_tail((difference / error) ** 2, 1) if error else 1.0


def _t_test(differences: NDArray[np.float64]) -> float | None:
    """Two-sided p of the mean of paired differences; None for fewer than two, or where all are one."""
    count = len(differences)
    spread = float(differences.std(ddof=1)) if count > 1 else 0.0
    return two_sided(float(differences.mean()) / (spread / sqrt(count)), count - 1) if spread else None


TRANSLATION_COMPARISONS = TidyTable(
    "translation_comparisons",
    "two tokenizers of one translation model on a test by a metric",
    (
        *SYSTEM,
        METRIC,
        A,
        B,
        Column("score_a", pl.Float64, "score of a", decimals=2, heading="a’s"),
        Column("score_b", pl.Float64, "score of b", decimals=2, heading="b’s"),
        Column("difference", pl.Float64, "score of a minus that of b", decimals=2, heading="a − b"),
        Column("low", pl.Float64, "lower end of a 95 % interval of it, by the paired bootstrap", decimals=2),
        Column("high", pl.Float64, "upper end", decimals=2),
        Column(
            "bootstrap_p", pl.Float64, "one-sided p by the paired bootstrap: resamples in which a is not above b",
            PROBABILITY, "p, bootstrap",
        ),
        Column(
            "p_value", pl.Float64, "two-sided p of the difference by its standard error in the same resamples",
            PROBABILITY, "p, two sides",
        ),
        Column(
            "holm", pl.Float64,
            "that p, adjusted by Holm's procedure among all pairs of this model, test, size and metric",
            PROBABILITY, "p, Holm",
        ),
        Column(
            "t_test_p", pl.Float64, "two-sided p of a paired t test of the sentences' own scores", PROBABILITY, "p, t",
            empty="no spread between the sentences",
        ),
        Column("n", pl.Int64, "sentences of the test", "sentences"),
        Column("seeds", pl.Int64, "seeds whose translations are taken together; fewer than three allow no test"),
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
