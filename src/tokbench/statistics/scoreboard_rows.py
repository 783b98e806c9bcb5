"""Families of the scoreboard: average accuracies, bits per byte of language models, and morphological alignment.

Intervals are over questions, over seeds and documents, and over words of the gold data.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import fsum, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.contrast import Contrast
from tokbench.statistics.estimate import (
    Estimate,
    Ratio,
    Spread,
    difference_of_ratios,
    interval,
    mean_of,
    ratio_over_both,
    ratio_over_documents,
)
from tokbench.statistics.judgements import judge
from tokbench.statistics.model_bits import VariantGroup, groups
from tokbench.statistics.ranks import ComparisonFamily, Row, Value
from tokbench.statistics.verdicts import may_rank

Tasks = list[NDArray[np.float64]]
"""Answers to the questions of each task: 1 if right, 0 if wrong, or the share of seeds that were right."""


def accuracies(measure: str, ranks_by_size: pl.DataFrame, outcomes: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield average accuracies of every model, suite and size.

    Questions of a task are independent draws and the same for all variants. Tasks are fixed and have equal weight.
    Seeds are averaged first; no interval here covers their variation.

    Args:
        measure: name of the measure.
        ranks_by_size: see :data:`tokbench.statistics.ranks.RANKS_BY_SIZE`.
        outcomes: see :data:`tokbench.statistics.answers.OUTCOME`, with or without a column ``seed``.
    """
    keys = ["model", "suite", "size"]
    answered = dict(outcomes.group_by(keys))
    for key, part in ranks_by_size.sort(*keys, "variant").group_by(keys, maintain_order=True):
        model, suite, size = key
        known = answered.get(key)
        seeds = 1 if known is None or "seed" not in known.columns else max(1, known["seed"].drop_nulls().n_unique())
        sheets = {} if known is None else _sheets(known)
        values, kept = {}, {}
        for row in part.iter_rows(named=True):
            name, average = row["variant"], row["average"]
            if not row["n"]:
                continue
            sheet = sheets.get(name)
            if average is None or sheet is None or abs(_average(sheet) - average) > 1e-9 or _few(sheet):
                values[name] = Value(average, reason=row["reason"])
                continue
            kept[name] = sheet
            values[name] = Value(average, *interval(_estimate(sheet)), sum(map(len, sheet)), row["reason"])
        if not values:
            continue
        head = (None, size, measure, model, suite, f"share of questions of {suite} that {model} answers right, a mean "
                "over tasks")  # fmt: skip
        yield ComparisonFamily(
            head, "questions" if kept else "", "highest", values, _differences(kept, seeds),
            "the answers to its questions are not there", trainings=dict.fromkeys(values, seeds),
        )  # fmt: skip


def _differences(sheets: Mapping[str, Tasks], seeds: int) -> Callable[[str, str], Estimate | None]:
    def differ(a: str, b: str) -> Estimate | None:
        if a not in sheets or b not in sheets:
            return None
        estimate = _estimate([one - other for one, other in zip(sheets[a], sheets[b], strict=True)])
        return replace(estimate, trainings=seeds)

    return differ


def _sheets(outcomes: pl.DataFrame) -> dict[str, Tasks]:
    """Return the answers, means over seeds, of each variant that answered every question that any did."""
    place = ["task", "document"]
    means = outcomes.group_by("variant", *place).agg(pl.col("correct").mean())
    wide = means.pivot("variant", index=place, values="correct").sort(place)
    starts = np.flatnonzero(wide["task"].ne_missing(wide["task"].shift()).to_numpy())[1:]
    names = [name for name in wide.columns if name not in place and not wide[name].null_count()]
    return {name: np.split(wide[name].to_numpy().astype(np.float64), starts) for name in names}


def _few(sheet: Tasks) -> bool:
    return min(map(len, sheet)) < 2


def _average(sheet: Tasks) -> float:
    return fsum(fsum(task.tolist()) / len(task) for task in sheet) / len(sheet)


def _estimate(sheet: Tasks) -> Estimate:
    """Return the mean over tasks of each task's mean, its standard error over questions, and degrees of freedom.

    Tasks are strata: the variance of a mean of m tasks is the sum of their variances / m squared. Degrees of freedom
    are Satterthwaite's.
    """
    squares = []
    for task in sheet:
        mean = fsum(task.tolist()) / len(task)
        apart = task - mean
        squares.append(fsum((apart * apart).tolist()) / (len(task) - 1) / len(task))
    whole = fsum(squares)
    parts = fsum(one * one / (len(task) - 1) for one, task in zip(squares, sheet, strict=True))
    degrees = whole * whole / parts if parts else float(sum(len(task) - 1 for task in sheet))
    return Estimate(_average(sheet), sqrt(whole) / len(sheet), degrees)


Documents = Mapping[str, NDArray[np.float64]]
ONE_DOCUMENT = "a test needs two documents"


def over_documents(
    head: Row, bits: Documents, sizes: NDArray[np.float64], trainings: Mapping[str, int] | None = None
) -> ComparisonFamily:
    """Return bits per byte of variants on the same documents, by Student's t over documents.

    Args:
        head: first values of the rows.
        bits: float64 [documents] by variant.
        sizes: float64 [documents], bytes of the documents; none is zero.
        trainings: number of trainings by variant (default: None, no trained model).
    """
    seeds = trainings or {}
    if len(sizes) < 2:
        alone = {name: Value(float(one[0] / sizes[0])) for name, one in bits.items()}
        return ComparisonFamily(head, "", "lowest", alone, untested=ONE_DOCUMENT, trainings=seeds)
    values = {}
    for name, one in bits.items():
        estimate = ratio_over_documents(one, sizes)
        values[name] = Value(estimate.difference, *interval(estimate), len(sizes))

    def differ(a: str, b: str) -> Estimate:
        estimate = ratio_over_documents(bits[a] - bits[b], sizes)
        return replace(estimate, trainings=min(seeds[a], seeds[b])) if seeds else estimate

    return ComparisonFamily(head, "documents", "lowest", values, differ, trainings=seeds)


def model_bits(measure: str, bits_by_seed: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield bits per byte of every model and size.

    Intervals are over seeds and documents for variants with several seeds, and over documents for others.

    Args:
        measure: name of the measure.
        bits_by_seed: see :func:`tokbench.statistics.model_bits.compare_model_bits`.
    """
    for group in groups(bits_by_seed):
        corpus, model, suite, size = group.key
        head = (corpus, size, measure, model, suite, f"bits of the text by the language model {model}, over its bytes")
        filled = group.sizes > 0
        trainings = {name: len(one) for name, one in group.bits.items()}
        several = {name: one for name, one in group.bits.items() if may_rank(trainings[name]) and filled.sum() > 1}
        if several:
            yield _over_both(head, replace(group, bits=several), trainings)
        if single := group.bits.keys() - several.keys():
            means = {name: np.mean(list(group.bits[name].values()), axis=0)[filled] for name in sorted(single)}
            yield over_documents(head, means, group.sizes[filled], trainings)


def _over_both(head: Row, group: VariantGroup, trainings: Mapping[str, int]) -> ComparisonFamily:
    values = {}
    for name, one in group.bits.items():
        spread = ratio_over_both(np.stack(list(one.values())), group.sizes)
        values[name] = Value(spread.mean, *interval(spread.estimate), len(group.sizes))

    def differ(a: str, b: str) -> Estimate | None:
        found = group.spread(a, b)
        return found.estimate if isinstance(found, Spread) else None

    untested = "no two seeds in common"
    return ComparisonFamily(head, "seeds and documents", "lowest", values, differ, untested, trainings=trainings)


METRIC = "morphological_alignment"
ALL_RESOURCES = "all resources"
UNKEPT = "what each word adds was not kept"
SLACK = 1e-9
"""Tolerance of a mean whose words are added in another order."""
Sheet = list[Ratio]
"""For each resource the right boundaries of its words and the denominators of F1: right boundaries plus half of the
wrong and missed ones. Both are 0 for a word that the tokenizer is not scored on."""


def alignment(measure: str, measured: pl.DataFrame, by_word: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield alignment with morphemes at every size: the mean over all resources if there are several.

    F1 of pooled boundaries is a ratio of sums over words. Words are drawn independently in each resource; resources are
    fixed. A tokenizer is scored on words that are not tokens while all their gold segments are, so each has its own
    words. Contributions of a word to two tokenizers are paired.

    Args:
        measure: name of the measure.
        measured: values, rows of the table of intrinsic metrics.
        by_word: see :data:`tokbench.tabulation.columns.BOUNDARIES`.
    """
    for (corpus, size), part in (
        foremost(measured).sort("corpus", "size").group_by("corpus", "size", maintain_order=True)
    ):
        kept = by_word.filter(size=size)
        sheets = sheets_of(kept if corpus == ALL_RESOURCES else kept.filter(corpus=corpus))
        values = {
            variant: _value(value, reason, sheets.get(variant))
            for variant, value, reason in part.select("variant", "value", "reason").iter_rows()
        }
        scored = {name: sheets[name] for name, one in values.items() if one.low is not None}
        alone = kept.is_empty() or kept["words"].max() == 1
        over = ("words" if alone else "groups of words") if scored else ""
        head = (corpus, size, measure, None, None, part["definition"][0])
        yield ComparisonFamily(head, over, "highest", values, partial(_more, scored), untested=UNKEPT)


def foremost(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the rows to report first: means over all resources if there are several, with the first definition."""
    if ALL_RESOURCES in measured["corpus"]:
        measured = measured.filter(corpus=ALL_RESOURCES)
    return measured.filter(pl.col("definition") == pl.col("definition").min().over("corpus"))


def sheets_of(by_word: pl.DataFrame) -> dict[str, Sheet]:
    """Return for every variant and resource the words that any variant is scored on; all rows are of one size."""
    found: dict[str, Sheet] = {name: [] for name in by_word["variant"].unique().sort()}
    rows = by_word.with_columns(over=pl.col("right") + (pl.col("wrong") + pl.col("missed")) / 2)
    for _, part in rows.sort("corpus", "word").group_by("corpus", maintain_order=True):
        words = part.select(pl.col("word").unique(maintain_order=True))
        for name, sheet in found.items():
            own = words.join(part.filter(variant=name), on="word", how="left", maintain_order="left")
            right, over = (own[column].fill_null(0).to_numpy().astype(np.float64) for column in ("right", "over"))
            sheet.append((right, over))
    return found


def agreement(sheet: Sheet) -> Estimate | None:
    """Return the mean over resources; None if a resource has fewer than two words that the tokenizer is scored on."""
    kept = [(right[over > 0], over[over > 0]) for right, over in sheet]
    if not kept or min(len(over) for _, over in kept) < 2:
        return None
    return mean_of([ratio_over_documents(*one) for one in kept])


def apart(a: Sheet, b: Sheet) -> Estimate:
    """Return the difference of two means over resources; both must have an :func:`agreement`."""
    return mean_of([_apart(*both) for both in zip(a, b, strict=True)])


def contrast(a: tuple[pl.DataFrame, float], b: tuple[pl.DataFrame, float]) -> Contrast | None:
    """Compare two tokenizers' means over resources; None if their words do not reproduce both values.

    Args:
        a, b: boundary counts by word, see :data:`tokbench.tabulation.columns.BOUNDARIES`, and the mean.
    """
    named = [part.with_columns(variant=pl.lit(side)) for side, (part, _) in zip("ab", (a, b), strict=True)]
    sheets = sheets_of(pl.concat(named))
    both = [sheets.get(side, []) for side in "ab"]
    for sheet, (_, value) in zip(both, (a, b), strict=True):
        found = agreement(sheet)
        if found is None or abs(found.difference - value) > SLACK:
            return None
    [told] = judge([apart(*both)])
    n = drawn(*both)
    p_value = max(told.p_value or 0.0, 2.0 ** (1 - n)) if told.difference else 1.0
    return Contrast(a[1], b[1], told.difference, told.low, told.high, n, p_value)


def drawn(*sheets: Sheet) -> int:
    """Return the number of words that at least one of the tokenizers is scored on."""
    return sum(
        int(np.any([over > 0 for _, over in of_resource], axis=0).sum()) for of_resource in zip(*sheets, strict=True)
    )


def _value(value: float | None, reason: str | None, sheet: Sheet | None) -> Value:
    """Return the mean over resources, with its interval over words if the words reproduce it."""
    found = None if value is None or sheet is None else agreement(sheet)
    if value is None or sheet is None or found is None or abs(found.difference - value) > SLACK:
        return Value(value, reason=reason)
    return Value(value, *interval(found), drawn(sheet), reason)


def _more(sheets: Mapping[str, Sheet], a: str, b: str) -> Estimate | None:
    return apart(sheets[a], sheets[b]) if a in sheets and b in sheets else None


def _apart(a: Ratio, b: Ratio) -> Estimate:
    either = (a[1] > 0) | (b[1] > 0)
    return difference_of_ratios((a[0][either], a[1][either]), (b[0][either], b[1][either]))
