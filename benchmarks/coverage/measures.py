"""Cases of the simulation for single measures: tasks, alignment, languages, effects of tokens, laws of scale."""

from collections.abc import Iterator
from functools import partial
from math import log

import numpy as np
import polars as pl

from benchmarks.coverage.cases import Case, contains
from benchmarks.coverage.samples import DISTRIBUTIONS, Rng, unit_values
from tokbench.statistics.comparisons.question_groups import estimate_mean
from tokbench.statistics.comparisons.scoreboard_rows import Sheet, difference_of_agreements
from tokbench.statistics.effects.token_effects import CUTOFF, token_effects
from tokbench.statistics.scale.power_law import Weighted, slope_weights, sum_of_logs
from tokbench.statistics.significance.estimate import ratio

DESIGNS = {
    "1 task of 100 questions": ((100,), 1),
    "1 task of 12 clusters of 5": ((60,), 5),
    "4 tasks of 12 questions": ((12,) * 4, 1),
    "4 tasks of 20 to 100 questions": ((100, 50, 50, 20), 1),
    "4 tasks of 3 clusters of 5": ((15,) * 4, 5),
    "4 tasks of 6 clusters of 5": ((30,) * 4, 5),
    "4 tasks of 3 to 20 clusters of 5": ((100, 40, 25, 15), 5),
}
"""Questions of each task, and questions of a cluster."""


def answers(rng: Rng, design: str, seeds: int) -> bool:
    """Draw right and wrong answers of two equal tokenizers; questions of a cluster have similar difficulty."""
    counts, of_cluster = DESIGNS[design]
    values, tasks, clusters = [], [], []
    for task, count in enumerate(counts):
        cluster = np.arange(count) // of_cluster
        difficulty = rng.standard_normal(count) + 0.7 * rng.standard_normal(count)[cluster]
        right = []
        for _ in range(2):
            tokenizer_effect = 0.5 * rng.standard_normal(count)[cluster]
            trained = 0.15 * rng.standard_normal((seeds, 1)) if seeds > 1 else 0.0
            right.append(rng.random((seeds, count)) < 1 / (1 + np.exp(-(difficulty + tokenizer_effect + trained))))
        values.append(right[0].astype(np.float64) - right[1])
        tasks.append(np.full(count, task))
        clusters.append(cluster + 1000 * task)
    comparison = estimate_mean(np.concatenate(values, 1), np.concatenate(tasks), np.concatenate(clusters))
    return contains(comparison.estimate, 0.0)


def alignment(rng: Rng, words: int, resources: int) -> bool:
    """Draw boundaries of two tokenizers in words of each resource, as an F1 of boundaries pools them.

    A word has one to three boundaries; a tokenizer finds each with its own probability, which varies by word, and adds
    wrong ones.
    """
    sheets: tuple[Sheet, Sheet] = ([], [])
    truths = []
    for number in range(resources):
        gold = rng.integers(1, 4, words).astype(np.float64)
        hard = rng.beta(2, 2, words)
        for sheet, better in zip(sheets, (0.0, 0.1), strict=True):
            right = rng.binomial(gold.astype(int), 0.8 * hard + better).astype(np.float64)
            wrong = rng.poisson(0.5 + 0.1 * number, words).astype(np.float64)
            scored = rng.random(words) < 0.9
            over = right + (wrong + gold - right) / 2
            sheet.append((np.where(scored, right, 0.0), np.where(scored, over, 0.0)))
        correct_sums = [2 * (0.8 * 0.5 + better) for better in (0.0, 0.1)]
        truths.append(
            [correct_sum / (correct_sum + (0.5 + 0.1 * number + 2 - correct_sum) / 2) for correct_sum in correct_sums]
        )
    truth = float(np.mean([a - b for a, b in truths]))
    return contains(difference_of_agreements(*sheets), truth)


def languages(rng: Rng, count: int, between: float, distribution: str) -> bool:
    """Draw a difference of each language from its documents; a language is a unit of weight one."""
    documents = rng.integers(2, 60, count)
    values = between * unit_values(rng, distribution, (count,)) + rng.standard_normal(count) / np.sqrt(documents)
    return contains(ratio(values, np.ones(count), unit="languages"), 0.0)


def effect_of_tokens(rng: Rng, tokens: int, seeds: int, distribution: str, over: str) -> bool:
    """Draw outcomes of tokens around a cut-off with a jump of one bit.

    Args:
        rng: random generator.
        tokens: ranks on each side of the cut-off.
        seeds: number of trainings.
        distribution: distribution of a token's outcome.
        over: "tokens" (one set of trainings), "seeds" (one set of tokens), or "both".
    """
    ranks = np.arange(-tokens, tokens)
    shared = np.zeros(2 * tokens) if over == "seeds" else 2 * unit_values(rng, distribution, (2 * tokens,))
    of_seed = np.zeros(seeds) if over == "tokens" else 0.4 * rng.standard_normal(seeds)
    rest = np.zeros((seeds, 2 * tokens)) if over == "tokens" else 0.5 * rng.standard_normal((seeds, 2 * tokens))
    outcome = shared - 0.002 * ranks + (ranks < 0) * (1 + of_seed[:, np.newaxis]) + rest
    frame = pl.concat(
        pl.DataFrame(
            {
                "corpus": "text", "variant": "a", "size": 1000, "model": "m", "seed": seed, "rank": ranks,
                "occurrences": 10, "bits": 10 * bits, "uniform_bits": 0.0, "scored": 10,
            }
        )
        for seed, bits in enumerate(outcome)
    )  # fmt: skip
    found = token_effects(frame, tokens).filter(kind=CUTOFF, bandwidth=tokens, band="")
    side = {"tokens": "", "seeds": "seed_", "both": "both_"}[over]
    low, high = found.select(f"{side}low", f"{side}high").row(0)
    return bool(low <= 1 <= high)


def exponent(rng: Rng, seeds: int, documents: int) -> bool:
    """Draw bits of models of three scales on a law with the exponent 0.1, over seeds and documents."""
    scales = [1.0, 4.0, 16.0]
    sizes = np.exp(0.5 * rng.standard_normal(documents))
    hard, slope = 0.1 * rng.standard_normal(documents), 0.01 * rng.standard_normal(documents)
    terms = []
    for scale, weight in zip(scales, slope_weights([log(value) for value in scales]), strict=True):
        trained = 0.01 * rng.standard_normal((seeds, 1)) if seeds > 1 else np.zeros((1, 1))
        levels = 2 * scale**-0.1 * (1 + hard - slope * log(scale) + trained)
        levels = levels + 0.01 * rng.standard_normal((seeds, documents))
        terms.append(Weighted(weight, levels * sizes))
    estimate = sum_of_logs(terms, sizes)
    assert not isinstance(estimate, float)
    return contains(estimate, -0.1)


def measure_cases(times: int) -> Iterator[Case]:
    """Yield the cases of single measures."""
    for design in DESIGNS:
        for seeds in (1, 3, 5):
            yield Case("tasks", (design,), str(seeds), partial(answers, design=design, seeds=seeds), times)
    for resources in (1, 3):
        for words in (10, 30, 100, 1000):
            draw = partial(alignment, words=words, resources=resources)
            yield Case("alignment", (str(resources),), f"{words:,}", draw, times)
    for distribution in ("normal", "more skewed"):
        for between in (0.0, 0.3, 1.0):
            for count in (3, 4, 6, 8, 12, 20):
                draw = partial(languages, count=count, between=between, distribution=distribution)
                yield Case("languages", (DISTRIBUTIONS[distribution], f"{between:g}"), str(count), draw, 2 * times)
    for over, seeds in (("tokens", 1), ("seeds", 3), ("seeds", 5), ("both", 3), ("both", 5)):
        for distribution in ("normal",) if over == "seeds" else ("normal", "more skewed"):
            for tokens in (8, 20, 100):
                draw = partial(effect_of_tokens, tokens=tokens, seeds=seeds, distribution=distribution, over=over)
                row = (f"over {over}", str(seeds), DISTRIBUTIONS[distribution])
                yield Case("effects of tokens", row, str(tokens), draw, times // 2)
    for seeds in (3, 5, 10):
        for documents in (6, 12, 20):
            draw = partial(exponent, seeds=seeds, documents=documents)
            yield Case("laws of scale", (str(seeds),), str(documents), draw, times)
