"""Claims that the scoreboard supports: the best of each measure at one size, among tokenizers of one pre-tokenizer."""

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from tokbench.report.content import UNKNOWN_PRETOKENIZER, ReportContent
from tokbench.statistics.comparisons.families import (
    ACCURACY,
    ALIGNMENT,
    ALIKE,
    BEST,
    BITS,
    NGRAM,
    TOKENS,
    UNRANKED,
    UNTESTED,
)
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.significance.eligibility import ONE_TRAINING

Row = dict[str, Any]
"""A row of the scoreboard."""
Of = tuple[str, str, str, str]
"""Measure, model, suite and corpus; empty where there is none."""
Group = tuple[str, str, str, str, str | None]
"""The same, and the pre-tokenizer."""
CLAIMED = (TOKENS, BITS, NGRAM, ACCURACY, ALIGNMENT)
HIGHEST = (ACCURACY, ALIGNMENT)
"""Measures whose highest value is the best."""
Tied = tuple[list[str], dict[str, str]]
"""Variants without a significant difference from the best, and untested ones with the reason."""


@dataclass(frozen=True)
class Numbers:
    """Numbers of one measure at one size that are not ranked, because each tokenizer had one training.

    Attributes:
        measure: measure of the scoreboard.
        corpus: name of the corpus; empty for none.
        model: name of the model; empty for none.
        suite: name of the suite; empty for none.
        size: vocabulary size.
        rows: rows of the scoreboard, the best value first.
    """

    measure: str
    corpus: str
    model: str
    suite: str
    size: int
    rows: list[Row]


@dataclass(frozen=True)
class Claim:
    """The best of one measure at one size, and the verdicts on the others.

    Attributes:
        measure: measure of the scoreboard.
        corpus: name of the corpus; empty for none.
        model: name of the model; empty for none.
        suite: name of the suite; empty for none.
        size: vocabulary size.
        best: row of the best.
        alike: variants without a significant difference from the best.
        untested: reason by variant whose difference from the best is not tested.
        ranked: number of variants compared, including the best.
        last: row of the variant with the largest difference from the best.
        best_by_size: the best by size, for sizes with two or more ranked variants.
        on_others: the best at this size by other corpus, for corpora with two or more ranked variants.
        tied: ``alike`` and ``untested`` by other size or corpus.
        outdone: True if a variant that is not ranked has a better value.
        every_size: True if variants are compared at every size that has values.
        pretokenizer: pre-tokenizer of all variants compared; empty if the scoreboard has a single one.
        second: row of the second best of the ranked variants; None if there is none.
    """

    measure: str
    corpus: str
    model: str
    suite: str
    size: int
    best: Row
    alike: list[str]
    untested: dict[str, str]
    ranked: int
    last: Row
    best_by_size: dict[int, str] = field(default_factory=dict)
    on_others: dict[str, str] = field(default_factory=dict)
    tied: dict[int | str, Tied] = field(default_factory=dict)
    outdone: bool = False
    every_size: bool = True
    pretokenizer: str = ""
    second: Row | None = None


@dataclass(frozen=True)
class Crossing:
    """The best number of one measure at one size among all pre-tokenizers.

    Attributes:
        measure, corpus, model, suite, size: the groups in which it is the best.
        best: its row of the scoreboard.
    """

    measure: str
    corpus: str
    model: str
    suite: str
    size: int
    best: Row


def claims(content: ReportContent, size: int | None = None) -> list[Claim]:
    """Return a claim for each measure.

    A claim is for the first corpus in the order of reading, the first model and suite, tokenizers with the first
    pre-tokenizer (the baseline's), and the largest size with two or more ranked. Bits of n-gram models are used if
    there are none of a language model.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    groups, unranked = _groups(content, size)
    several = len({one[4] for one in groups}) > 1
    found = []
    for measure in CLAIMED:
        keys = [one for one in groups if one[0] == measure]
        made = (_claim(*one[:4], groups[one], unranked.get(one, [])) for one in keys)
        if (first := next(filter(None, made), None)) is not None:
            own = first.best["pretokenization"]
            same = {one[3]: groups[one] for one in keys if one[1:3] == (first.model, first.suite) and one[4] == own}
            others = _best_by_corpus(same, first)
            tied: dict[int | str, Tied] = {corpus: _tied(same[corpus], first.size) for corpus in others}
            named = (own or UNKNOWN_PRETOKENIZER) if several else ""
            found.append(replace(first, on_others=others, tied={**first.tied, **tied}, pretokenizer=named))
    if any(one.measure == BITS for one in found):
        found = [one for one in found if one.measure != NGRAM]
    return found


def numbers(content: ReportContent, size: int | None = None) -> list[Numbers]:
    """Return the numbers of each measure without a ranking, because each tokenizer had one training.

    They are for the first model, suite and corpus in the order of reading, the largest size, and all pre-tokenizers.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    together = _together(_groups(content, size)[0])
    ranked = {of[0] for of, rows in together.items() if any(map(_ranked, rows))}
    found: dict[str, Numbers] = {}
    for of, rows in together.items():
        measure, model, suite, corpus = of
        single = [row for row in rows if row["reason"] == ONE_TRAINING]
        if measure in ranked or measure in found or not single:
            continue
        largest = max(row["size"] for row in single)
        here = [row for row in single if row["size"] == largest]
        ordered = sorted(here, key=lambda row: (row["value"], row["variant"]), reverse=measure in HIGHEST)
        found[measure] = Numbers(measure, corpus, model, suite, largest, ordered)
    return [found[measure] for measure in CLAIMED if measure in found]


def crossings(content: ReportContent, size: int | None = None) -> list[Crossing]:
    """Return the best across pre-tokenizers of each measure, if it differs from the best of the measure's claim.

    Corpus, model, suite and size are those of the claim. Without a claim, no two tokenizers share a pre-tokenizer; the
    size is then the largest with two or more ranked. Models with one training are not ranked.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    ranked = {of: list(filter(_ranked, rows)) for of, rows in _together(_groups(content, size)[0]).items()}
    ranked = {of: rows for of, rows in ranked.items() if rows}
    by_measure = {one.measure: one for one in claims(content, size)}
    found = []
    for measure in CLAIMED:
        if measure == NGRAM and any(of[0] == BITS for of in ranked):
            continue
        claim = by_measure.get(measure)
        sizes: dict[tuple[Of, int], list[Row]] = {}
        for of, rows in ranked.items():
            for row in rows if of[0] == measure else ():
                sizes.setdefault((of, row["size"]), []).append(row)
        compared = {key: rows for key, rows in sizes.items() if len({row["pretokenization"] for row in rows}) > 1}
        if claim is not None:
            own = ((claim.measure, claim.model, claim.suite, claim.corpus), claim.size)
            compared = {key: rows for key, rows in compared.items() if key == own}
        if not compared:
            continue
        first = next(iter(compared))[0]
        largest = max(size for of, size in compared if of == first)
        sign = -1 if measure in HIGHEST else 1
        best = min(compared[first, largest], key=lambda row: (sign * row["value"], row["variant"]))
        if claim is None or claim.best["variant"] != best["variant"]:
            found.append(Crossing(measure, first[3], first[1], first[2], largest, best))
    return found


def _ranked(row: Row) -> bool:
    return row["best"] is not None


def _groups(content: ReportContent, size: int | None) -> tuple[dict[Group, list[Row]], dict[Group, list[Row]]]:
    """Return rows of the scoreboard by group in the order of reading: first ranked rows and those of one training,
    then rows that are not ranked."""
    frame = content.frames.get(SCOREBOARD.name)
    if frame is None:
        return {}, {}
    frame = frame if size is None else frame.filter(size=size)
    order = {name: number for number, name in enumerate(content.models)}
    found: tuple[dict[Group, list[Row]], dict[Group, list[Row]]] = ({}, {})
    for row in frame.filter(pl.col("value").is_not_null(), pl.col("verdict").is_not_null()).iter_rows(named=True):
        of = (row["measure"], row["model"] or "", row["suite"] or "", row["corpus"] or "", row["pretokenization"])
        found[row["verdict"] == UNRANKED].setdefault(of, []).append(row)

    def place(one: Group) -> tuple[Any, ...]:
        model = order.get(one[1].partition(" (")[0], len(order))
        return (model, *one[1:3], content.place_of_corpus(one[3]), content.place_of_pretokenizer(one[4]))

    ranked, unranked = ({key: rows[key] for key in sorted(rows, key=place)} for rows in found)
    return ranked, unranked


def _together(groups: dict[Group, list[Row]]) -> dict[Of, list[Row]]:
    """Merge the rows of groups that differ only in the pre-tokenizer."""
    found: dict[Of, list[Row]] = {}
    for group, rows in groups.items():
        found.setdefault(group[:4], []).extend(rows)
    return found


def _best_by_corpus(by_corpus: dict[str, list[Row]], claim: Claim) -> dict[str, str]:
    """Return the best of each corpus except the claim's, at its size."""
    found = {}
    for corpus, rows in by_corpus.items():
        here = [row for row in rows if row["size"] == claim.size]
        first = next((row for row in here if row["verdict"] == BEST), None)
        if corpus != claim.corpus and sum(map(_ranked, here)) > 1 and first is not None:
            found[corpus] = str(first["variant"])
    return found


def _tied(rows: list[Row], size: int) -> Tied:
    """Return the variants at one size without a significant difference from the best, and the untested ones."""
    here = sorted((row for row in rows if row["size"] == size), key=lambda row: str(row["variant"]))
    untested = {row["variant"]: row["reason"] or "" for row in here if row["verdict"] == UNTESTED}
    return [row["variant"] for row in here if row["verdict"] == ALIKE], untested


def _claim(measure: str, model: str, suite: str, corpus: str, rows: list[Row], unranked: list[Row]) -> Claim | None:
    sizes: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["size"], row["variant"])):
        sizes.setdefault(row["size"], []).append(row)
    firsts = {
        size: [row for row in here if row["verdict"] == BEST]
        for size, here in sizes.items()
        if sum(map(_ranked, here)) > 1
    }
    bests = {size: first[0] for size, first in firsts.items() if first}
    if not bests:
        return None
    size = max(bests)
    here = sizes[size]
    alike, untested = _tied(rows, size)
    last = max(here, key=lambda row: (abs(row["behind"] or 0), row["variant"]))
    best_by_size = {size: str(row["variant"]) for size, row in bests.items()}
    tied: dict[int | str, Tied] = {other: _tied(rows, other) for other in best_by_size if other != size}
    sign = -1 if measure in HIGHEST else 1
    others = [*(row for row in unranked if row["size"] == size), *(row for row in here if row["best"] is None)]
    outdone = any(sign * (row["value"] - bests[size]["value"]) < 0 for row in others)
    every_size = {row["size"] for row in (*rows, *unranked)} == set(bests)
    fields = (bests[size], alike, untested, len(here), last, best_by_size)
    ranked = sorted(filter(_ranked, here), key=lambda row: (sign * row["value"], row["variant"]))
    second = next((row for row in ranked if row["variant"] != bests[size]["variant"]), None)
    return Claim(
        measure, corpus, model, suite, size, *fields, tied=tied, outdone=outdone, every_size=every_size, second=second
    )
