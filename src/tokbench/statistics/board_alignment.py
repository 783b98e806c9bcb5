"""Alignment with morphemes for the scoreboard, with intervals over the words of the gold data."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl

from tokbench.statistics.contrast import Contrast
from tokbench.statistics.estimate import Estimate, Ratio, difference_of_ratios, interval, mean_of, ratio_over_documents
from tokbench.statistics.judgement import judged
from tokbench.statistics.standing import Family, Value

METRIC = "morphological_alignment"
ALL_RESOURCES = "all resources"
UNKEPT = "what each word adds was not kept"
SLACK = 1e-9
"""What a mean may be off by where its words are added up in another order."""
Sheet = list[Ratio]
"""For each resource the right boundaries of its words, and what F1 has them over: with half of all that are wrong or
missed. Both are 0 for a word that the tokenizer is not scored on."""


def alignment(measure: str, measured: pl.DataFrame, by_word: pl.DataFrame) -> Iterator[Family]:
    """Alignment with morphemes at every size: the mean over all resources where there are several.

    F1 of pooled boundaries is a ratio of sums over words. Words are drawn, those of one resource independently of those
    of another, and resources are fixed. Each tokenizer is scored on words of its own, those that are no token while all
    their segments are; what a word gives to both of two tokenizers is set against each other.

    Args:
        measure: what the measure is called.
        measured: the values, rows of the tidy table of intrinsic metrics.
        by_word: see :data:`tokbench.tidy.documents.BOUNDARIES`.
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
        yield Family(head, over, "highest", values, partial(_more, scored), untested=UNKEPT)


def foremost(measured: pl.DataFrame) -> pl.DataFrame:
    """The rows that are told of first: means over all resources where there are several, in one definition."""
    if ALL_RESOURCES in measured["corpus"]:
        measured = measured.filter(corpus=ALL_RESOURCES)
    return measured.filter(pl.col("definition") == pl.col("definition").min().over("corpus"))


def sheets_of(by_word: pl.DataFrame) -> dict[str, Sheet]:
    """Of every variant, resource by resource, the words that any variant is scored on; all are of one size."""
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
    """The mean over resources; None where a resource has fewer than two words that the tokenizer is scored on."""
    kept = [(right[over > 0], over[over > 0]) for right, over in sheet]
    if not kept or min(len(over) for _, over in kept) < 2:
        return None
    return mean_of([ratio_over_documents(*one) for one in kept])


def apart(a: Sheet, b: Sheet) -> Estimate:
    """The difference of two such means of which there is an :func:`agreement`."""
    return mean_of([_apart(*both) for both in zip(a, b, strict=True)])


def contrast(a: tuple[pl.DataFrame, float], b: tuple[pl.DataFrame, float]) -> Contrast | None:
    """Two tokenizers' means over resources, and a minus b; None where their words do not give both values.

    Args:
        a, b: the boundaries of each one's words, see :data:`tokbench.tidy.documents.BOUNDARIES`, and its value.
    """
    named = [part.with_columns(variant=pl.lit(side)) for side, (part, _) in zip("ab", (a, b), strict=True)]
    sheets = sheets_of(pl.concat(named))
    both = [sheets.get(side, []) for side in "ab"]
    for sheet, (_, value) in zip(both, (a, b), strict=True):
        found = agreement(sheet)
        if found is None or abs(found.difference - value) > SLACK:
            return None
    [told] = judged([apart(*both)])
    n = drawn(*both)
    p_value = max(told.p_value or 0.0, 2.0 ** (1 - n)) if told.difference else 1.0
    return Contrast(a[1], b[1], told.difference, told.low, told.high, n, p_value)


def drawn(*sheets: Sheet) -> int:
    """Words that any of some tokenizers is scored on."""
    return sum(
        int(np.any([over > 0 for _, over in of_resource], axis=0).sum()) for of_resource in zip(*sheets, strict=True)
    )


def _value(value: float | None, reason: str | None, sheet: Sheet | None) -> Value:
    """The mean over resources, and what it would be with other words, where the words give it."""
    found = None if value is None or sheet is None else agreement(sheet)
    if value is None or sheet is None or found is None or abs(found.difference - value) > SLACK:
        return Value(value, reason=reason)
    return Value(value, *interval(found), drawn(sheet), reason)


def _more(sheets: Mapping[str, Sheet], a: str, b: str) -> Estimate | None:
    return apart(sheets[a], sheets[b]) if a in sheets and b in sheets else None


def _apart(a: Ratio, b: Ratio) -> Estimate:
    either = (a[1] > 0) | (b[1] > 0)
    return difference_of_ratios((a[0][either], a[1][either]), (b[0][either], b[1][either]))
