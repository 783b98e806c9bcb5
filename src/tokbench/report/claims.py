"""Claims of the scoreboard for each measure: the best at one size, and the verdicts on the others."""

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.statistics.scoreboard import ACCURACY, ALIGNMENT, BITS, NGRAM, SCOREBOARD, TOKENS
from tokbench.statistics.standing import ALIKE, BEST, UNRANKED, UNTESTED
from tokbench.statistics.verdicts import ONE_TRAINING

Row = dict[str, Any]
"""A row of the scoreboard."""
Of = tuple[str, str, str, str]
"""Measure, model, suite and corpus; empty where there is none."""
CLAIMED = (TOKENS, BITS, NGRAM, ACCURACY, ALIGNMENT)
HIGHEST = (ACCURACY, ALIGNMENT)
"""Measures of which the highest number is the best."""
Tied = tuple[list[str], dict[str, str]]
"""Variants without a significant difference from the best, and untested ones with the reason."""


@dataclass(frozen=True)
class Numbers:
    """Numbers of one measure at one size that are not ranked, because each tokenizer had one training.

    Attributes:
        measure, corpus, model, suite, size: as of :class:`Claim`.
        rows: the rows of the scoreboard, by value.
    """

    measure: str
    corpus: str
    model: str
    suite: str
    size: int
    rows: list[Row]


@dataclass(frozen=True)
class Claim:
    """What is said of one measure at one size.

    Attributes:
        measure, corpus, model, suite, size: whose best is told.
        best: its row of the scoreboard.
        alike: variants without a significant difference from it.
        untested: variants whose difference from it is not tested, each with the reason.
        ranked: how many are compared, the best included.
        last: the row of the variant furthest behind.
        elsewhere: the best by size, at every size with two or more that are compared.
        on_others: the best at this size by corpus, on every other corpus with two or more that are compared.
        tied: the same as ``alike`` and ``untested``, at another size or on another corpus.
        outdone: whether one that is not ranked has a better number.
        every_size: whether something is compared at every size that has numbers.
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
    elsewhere: dict[int, str] = field(default_factory=dict)
    on_others: dict[str, str] = field(default_factory=dict)
    tied: dict[int | str, Tied] = field(default_factory=dict)
    outdone: bool = False
    every_size: bool = True


def claims(content: ReportContent) -> list[Claim]:
    """Of each measure what is said of it.

    It is said of the first corpus in the order of reading, under the first model and suite, at the largest size at
    which two or more are compared. Bits of n-gram models stand in where there are none of a language model.
    """
    groups, unranked = _groups(content)
    found = []
    for measure in CLAIMED:
        told = [one for one in groups if one[0] == measure]
        made = (_claim(*one, groups[one], unranked.get(one, [])) for one in told)
        if (first := next(filter(None, made), None)) is not None:
            beside = {one[3]: groups[one] for one in told if one[1:3] == (first.model, first.suite)}
            others = _on_others(beside, first)
            tied: dict[int | str, Tied] = {corpus: _tied(beside[corpus], first.size) for corpus in others}
            found.append(replace(first, on_others=others, tied={**first.tied, **tied}))
    if any(one.measure == BITS for one in found):
        found = [one for one in found if one.measure != NGRAM]
    return found


def numbers(content: ReportContent) -> list[Numbers]:
    """Return the numbers of each measure of which :func:`claims` has nothing, because of one training.

    They are those of the first model, suite and corpus in the order of reading, at the largest size.
    """
    claimed = {one.measure for one in claims(content)}
    groups, _ = _groups(content)
    found = {}
    for of, rows in groups.items():
        single = [row for row in rows if row["reason"] == ONE_TRAINING]
        if of[0] in claimed or of[0] in found or not single:
            continue
        size = max(row["size"] for row in single)
        here = [row for row in single if row["size"] == size]
        measure, model, suite, corpus = of
        ordered = sorted(here, key=lambda row: (row["value"], row["variant"]), reverse=measure in HIGHEST)
        found[measure] = Numbers(measure, corpus, model, suite, size, ordered)
    return [found[measure] for measure in CLAIMED if measure in found]


def _groups(content: ReportContent) -> tuple[dict[Of, list[Row]], dict[Of, list[Row]]]:
    """Return the compared rows and the unranked rows of the scoreboard, by measure, model, suite and corpus, in the
    order of reading."""
    frame = content.frames.get(SCOREBOARD.name)
    groups: dict[Of, list[Row]] = {}
    unranked: dict[Of, list[Row]] = {}
    if frame is None:
        return groups, unranked
    for row in frame.filter(pl.col("value").is_not_null(), pl.col("verdict").is_not_null()).iter_rows(named=True):
        of = (row["measure"], row["model"] or "", row["suite"] or "", row["corpus"] or "")
        (unranked if row["verdict"] == UNRANKED else groups).setdefault(of, []).append(row)
    order, place = {name: number for number, name in enumerate(content.models)}, content.place_of_corpus

    def reading(of: Of) -> tuple[Any, ...]:
        return order.get(of[1].partition(" (")[0], len(order)), *of[1:3], place(of[3])

    return {of: groups[of] for of in sorted(groups, key=reading)}, unranked


def _on_others(beside: dict[str, list[Row]], claim: Claim) -> dict[str, str]:
    """The best of each corpus but the claim's, at its size; corpora in the order in which they are given."""
    found = {}
    for corpus, rows in beside.items():
        here = [row for row in rows if row["size"] == claim.size]
        first = next((row for row in here if row["verdict"] == BEST), None)
        if corpus != claim.corpus and len(here) > 1 and first is not None:
            found[corpus] = str(first["variant"])
    return found


def _tied(rows: list[Row], size: int) -> Tied:
    """Variants at one size without a significant difference from the best, and untested ones."""
    here = sorted((row for row in rows if row["size"] == size), key=lambda row: str(row["variant"]))
    untested = {row["variant"]: row["reason"] or "" for row in here if row["verdict"] == UNTESTED}
    return [row["variant"] for row in here if row["verdict"] == ALIKE], untested


def _claim(measure: str, model: str, suite: str, corpus: str, rows: list[Row], unranked: list[Row]) -> Claim | None:
    sizes: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["size"], row["variant"])):
        sizes.setdefault(row["size"], []).append(row)
    firsts = {size: [row for row in here if row["verdict"] == BEST] for size, here in sizes.items() if len(here) > 1}
    bests = {size: first[0] for size, first in firsts.items() if first}
    if not bests:
        return None
    size = max(bests)
    here = sizes[size]
    alike, untested = _tied(rows, size)
    last = max(here, key=lambda row: (abs(row["behind"] or 0), row["variant"]))
    elsewhere = {size: str(row["variant"]) for size, row in bests.items()}
    tied: dict[int | str, Tied] = {other: _tied(rows, other) for other in elsewhere if other != size}
    sign = -1 if measure in HIGHEST else 1
    others = [*(row for row in unranked if row["size"] == size), *(row for row in here if row["best"] is None)]
    outdone = any(sign * (row["value"] - bests[size]["value"]) < 0 for row in others)
    every_size = {row["size"] for row in (*rows, *unranked)} == set(bests)
    told = (bests[size], alike, untested, len(here), last, elsewhere)
    return Claim(measure, corpus, model, suite, size, *told, tied=tied, outdone=outdone, every_size=every_size)
