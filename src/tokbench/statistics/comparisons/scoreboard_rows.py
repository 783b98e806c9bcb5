"""Families of the scoreboard: average accuracies, bits per byte of language models, and morphological alignment.

Intervals are over seeds and clusters of questions, over seeds and documents, and over words of the gold data.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl

from tokbench.statistics.comparisons.families import ComparisonFamily, Value
from tokbench.statistics.comparisons.model_bits import NO_SEED, groups
from tokbench.statistics.comparisons.question_groups import ACCURACY, QuestionGroup, question_groups
from tokbench.statistics.significance.eligibility import Trainings, fewest_trainings
from tokbench.statistics.significance.estimate import (
    Estimate,
    Ratio,
    difference_of_ratios,
    mean_of,
    ratio,
)

SEEDS_TOO = "seeds and {}"
UNANSWERED = "the answers to its questions are not there"


def accuracies(
    measure: str, ranks_by_size: pl.DataFrame, answers_by_seed: pl.DataFrame, trained: Trainings
) -> Iterator[ComparisonFamily]:
    """Yield average accuracies of every model, suite and size.

    Estimates are those of :mod:`tokbench.statistics.comparisons.task_measures`: seeds and clusters of questions are
    random effects, tasks are fixed and have equal weight.

    Args:
        measure: name of the measure.
        ranks_by_size: see :data:`tokbench.statistics.accuracies.ranks.RANKS_BY_SIZE`.
        answers_by_seed: see :func:`tokbench.statistics.comparisons.question_groups.question_groups`.
        trained: number of trainings of every model.
    """
    keys = ("model", "suite", "size")
    groups_by_key = {group.key: group for group in question_groups(answers_by_seed, ACCURACY, keys)}
    for key, part in ranks_by_size.sort(*keys, "variant").group_by(keys, maintain_order=True):
        model, suite, size = key
        group = groups_by_key.get(key)
        values = {
            row["variant"]: _accuracy(row["average"], row["reason"], row["variant"], group)
            for row in part.iter_rows(named=True)
            if row["n"]
        }
        if not values:
            continue
        head = (None, size, measure, model, suite, f"share of questions of {suite} that {model} answers right, a mean "
                "over tasks")  # fmt: skip
        answered = {name for name, value in values.items() if value.n is not None}
        trainings = dict.fromkeys(values, fewest_trainings(trained, model, suite, [size]) or 1)
        unit = next((estimate.unit for name in answered if group and (estimate := group.estimate(name))), "")
        over = SEEDS_TOO.format(unit) if unit and max(trainings.values()) > 1 else unit
        yield ComparisonFamily(
            head, over, "highest", values, partial(_accuracy_difference, group, answered), UNANSWERED,
            trainings=trainings,
        )  # fmt: skip


def _accuracy(average: float | None, reason: str | None, variant: str, group: QuestionGroup | None) -> Value:
    """Return an average with its interval, if the answers of every task reproduce it."""
    estimate = None if group is None or variant not in group.values else group.estimate(variant)
    if average is None or estimate is None or abs(estimate.difference - average) > SLACK:
        return Value(average, reason=reason)
    return Value(average, *estimate.ends(), estimate.units, reason)


def _accuracy_difference(group: QuestionGroup | None, answered: set[str], a: str, b: str) -> Estimate | None:
    return group.estimate(a, b) if group is not None and {a, b} <= answered else None


def model_bits(measure: str, bits_by_seed: pl.DataFrame, unit_names: Mapping[str, str]) -> Iterator[ComparisonFamily]:
    """Yield bits per byte of every model and size, over seeds and documents.

    Args:
        measure: name of the measure.
        bits_by_seed: see :func:`tokbench.statistics.comparisons.model_bits.compare_model_bits`.
        unit_names: name of the units by corpus; units of other corpora are documents.
    """
    for group in groups(bits_by_seed, unit_names):
        corpus, model, suite, size = group.key
        head = (corpus, size, measure, model, suite, f"bits of the text by the language model {model}, over its bytes")
        trainings = {name: len(seeds) for name, seeds in group.bits.items()}
        values = {}
        for name, by_seed in group.bits.items():
            level = ratio(np.stack(list(by_seed.values())), group.sizes, trained=True)
            assert level is not None
            values[name] = Value(level.difference, *level.ends(), level.units)
        over = SEEDS_TOO.format(group.unit) if max(trainings.values()) > 1 else group.unit
        yield ComparisonFamily(head, over, "lowest", values, group.difference, NO_SEED, trainings=trainings)


METRIC = "morphological_alignment"
ALL_RESOURCES = "all resources"
UNKEPT = "what each word adds was not kept"
WORDS = "words"
SLACK = 1e-9
"""Tolerance of a mean whose words are added in another order."""
Sheet = list[Ratio]
"""For each resource the right boundaries of its words and the denominators of F1: right boundaries plus half of the
wrong and missed ones. Both are 0 for a word that the tokenizer is not scored on."""


def alignment(measure: str, intrinsic: pl.DataFrame, by_word: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield alignment with morphemes at every size: the mean over all resources if there are several.

    F1 of pooled boundaries is a ratio of sums over words. Words are drawn independently in each resource; resources are
    fixed. A tokenizer is scored on words that are not tokens while all their gold segments are, so each has its own
    words. Contributions of a word to two tokenizers are paired.

    Args:
        measure: name of the measure.
        intrinsic: values, rows of the table of intrinsic metrics.
        by_word: see :data:`tokbench.tabulation.columns.BOUNDARIES`.
    """
    for (corpus, size), part in (
        headline_rows(intrinsic).sort("corpus", "size").group_by("corpus", "size", maintain_order=True)
    ):
        words_of_size = by_word.filter(size=size)
        sheets = sheets_of(words_of_size if corpus == ALL_RESOURCES else words_of_size.filter(corpus=corpus))
        values = {
            variant: _value(value, reason, sheets.get(variant))
            for variant, value, reason in part.select("variant", "value", "reason").iter_rows()
        }
        scored = {name: sheets[name] for name, value in values.items() if value.n is not None}
        by_single_word = words_of_size.is_empty() or words_of_size["words"].max() == 1
        over = ("words" if by_single_word else "groups of words") if scored else ""
        head = (corpus, size, measure, None, None, part["definition"][0])
        yield ComparisonFamily(head, over, "highest", values, partial(_alignment_difference, scored), untested=UNKEPT)


def headline_rows(intrinsic: pl.DataFrame) -> pl.DataFrame:
    """Return the rows to report first: means over all resources if there are several, with the first definition."""
    if ALL_RESOURCES in intrinsic["corpus"]:
        intrinsic = intrinsic.filter(corpus=ALL_RESOURCES)
    return intrinsic.filter(pl.col("definition") == pl.col("definition").min().over("corpus"))


def sheets_of(by_word: pl.DataFrame) -> dict[str, Sheet]:
    """Return for every variant and resource the words that any variant is scored on; all rows are of one size."""
    sheets: dict[str, Sheet] = {name: [] for name in by_word["variant"].unique().sort()}
    rows = by_word.with_columns(over=pl.col("right") + (pl.col("wrong") + pl.col("missed")) / 2)
    for _, part in rows.sort("corpus", "word").group_by("corpus", maintain_order=True):
        words = part.select(pl.col("word").unique(maintain_order=True))
        for name, sheet in sheets.items():
            scored = words.join(part.filter(variant=name), on="word", how="left", maintain_order="left")
            right, over = (scored[column].fill_null(0).to_numpy().astype(np.float64) for column in ("right", "over"))
            sheet.append((right, over))
    return sheets


def agreement(sheet: Sheet) -> Estimate | None:
    """Return the mean over resources; None if a resource has fewer than two words that the tokenizer is scored on."""
    parts = [(right[over > 0], over[over > 0]) for right, over in sheet]
    if not parts or min(len(over) for _, over in parts) < 2:
        return None
    return mean_of([estimate for part in parts if (estimate := ratio(*part, unit=WORDS)) is not None])


def difference_of_agreements(a: Sheet, b: Sheet) -> Estimate:
    """Return the difference of two means over resources; both must have an :func:`agreement`."""
    return mean_of([_difference_of_ratios(*sheets) for sheets in zip(a, b, strict=True)])


def scored_words(*sheets: Sheet) -> int:
    """Return the number of words that at least one of the tokenizers is scored on."""
    return sum(
        int(np.any([over > 0 for _, over in of_resource], axis=0).sum()) for of_resource in zip(*sheets, strict=True)
    )


def _value(value: float | None, reason: str | None, sheet: Sheet | None) -> Value:
    """Return the mean over resources, with its interval over words if the words reproduce it."""
    estimate = None if value is None or sheet is None else agreement(sheet)
    if value is None or sheet is None or estimate is None or abs(estimate.difference - value) > SLACK:
        return Value(value, reason=reason)
    return Value(value, *estimate.ends(), scored_words(sheet), reason)


def _alignment_difference(sheets: Mapping[str, Sheet], a: str, b: str) -> Estimate | None:
    return difference_of_agreements(sheets[a], sheets[b]) if a in sheets and b in sheets else None


def _difference_of_ratios(a: Ratio, b: Ratio) -> Estimate:
    either = (a[1] > 0) | (b[1] > 0)
    return difference_of_ratios((a[0][either], a[1][either]), (b[0][either], b[1][either]), unit=WORDS)
