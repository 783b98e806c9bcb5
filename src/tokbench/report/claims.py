"""Claims that the scoreboard supports: the best of each measure at one size, or values that are not ranked."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.measure_words import CLAIMED, MEASURES
from tokbench.report.wording import UNKNOWN_PRETOKENIZER
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BEST, BITS, NGRAM, UNRANKED
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES
from tokbench.statistics.significance.eligibility import ONE_TRAINING

Row = dict[str, Any]
"""A row of the scoreboard."""
Setting = tuple[str, str, str, str]
"""Measure, model, suite and corpus; empty where there is none."""
Group = tuple[str, str, str, str, str | None]
"""The same, and the pre-tokenizer."""
WITHOUT_CORPUS = (ACCURACY, ALIGNMENT)
"""Measures that are not of a text."""
ClaimKind = Literal["best", "across", "unranked"]


@dataclass(frozen=True)
class Claim:
    """A claim on the values of one measure at one size.

    Attributes:
        kind: ``best`` for the best of one pre-tokenizer, ``across`` for the best of all pre-tokenizers, ``unranked``
            for values that are not ranked, because each tokenizer had one training.
        measure: measure of the scoreboard.
        model: name of the model; empty for none.
        suite: name of the suite; empty for none.
        corpus: name of the corpus; empty for none.
        size: vocabulary size.
        rows: rows of the scoreboard, the best first.
        pretokenizer: pre-tokenizer of all rows; empty if the rows have several or the scoreboard has a single one.
        sizes: rows by other size with two or more ranked variants, the best first.
        corpora: rows at this size by other corpus with two or more ranked variants, the best first.
        outdone: True if a variant that is not ranked has a better value.
        every_size: True if variants are compared at every size that has values.
        several_pretokenizers: True if the variants of the report have different pre-tokenizers.
    """

    kind: ClaimKind
    measure: str
    model: str
    suite: str
    corpus: str
    size: int
    rows: list[Row]
    pretokenizer: str = ""
    sizes: dict[int, list[Row]] = field(default_factory=dict)
    corpora: dict[str, list[Row]] = field(default_factory=dict)
    outdone: bool = False
    every_size: bool = True
    several_pretokenizers: bool = False

    @property
    def best(self) -> Row:
        """Row of the best value."""
        return self.rows[0]

    @property
    def text(self) -> str:
        """Name of the text: the corpus, or "the gold data" for all resources."""
        return "the gold data" if self.corpus == ALL_RESOURCES else self.corpus


def claims(content: ReportContent, size: int | None = None) -> list[Claim]:
    """Return all claims: those of :func:`best_claims`, :func:`claims_across` and :func:`unranked_claims`.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    return [*best_claims(content, size), *claims_across(content, size), *unranked_claims(content, size)]


def best_claims(content: ReportContent, size: int | None = None) -> list[Claim]:
    """Return a claim on the best for each measure.

    A claim is for the first corpus in the order of reading, the first model and suite, tokenizers with the first
    pre-tokenizer (the baseline's), and the largest size with two or more ranked. Bits of n-gram models are used if
    there are none of a language model.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    groups, unranked = _groups(content, size)
    several = len({group[4] for group in groups}) > 1
    made: list[Claim] = []
    for measure in CLAIMED:
        if measure == NGRAM and any(claim.measure == BITS for claim in made):
            continue
        keys = [group for group in groups if group[0] == measure]
        candidates = (_best_claim(group[:4], groups[group], unranked.get(group, [])) for group in keys)
        if (claim := next(filter(None, candidates), None)) is None:
            continue
        # The other corpora have the same model, suite and pre-tokenizer.
        own = (claim.model, claim.suite, claim.best["pretokenization"])
        by_corpus = {key[3]: groups[key] for key in keys if (*key[1:3], key[4]) == own and key[3] != claim.corpus}
        here = {name: [row for row in rows if row["size"] == claim.size] for name, rows in by_corpus.items()}
        corpora = {name: ordered for name, rows in here.items() if (ordered := _best_first(rows))}
        named = (own[2] or UNKNOWN_PRETOKENIZER) if several else ""
        made.append(replace(claim, corpora=corpora, pretokenizer=named))
    return made


def unranked_claims(content: ReportContent, size: int | None = None) -> list[Claim]:
    """Return the values of each measure without a ranking, because each tokenizer had one training.

    They are for the first model, suite and corpus in the order of reading, the largest size, and all pre-tokenizers.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    settings = _settings(_groups(content, size)[0])
    ranked = {setting[0] for setting, rows in settings.items() if any(map(_is_ranked, rows))}
    made: dict[str, Claim] = {}
    for setting, rows in settings.items():
        measure = setting[0]
        single = [row for row in rows if row["reason"] == ONE_TRAINING]
        if measure in ranked or measure in made or not single:
            continue
        largest = max(row["size"] for row in single)
        here = [row for row in single if row["size"] == largest]
        here.sort(key=lambda row: (row["value"], row["variant"]), reverse=MEASURES[measure].highest)
        made[measure] = Claim("unranked", *setting, largest, here, several_pretokenizers=content.several_pretokenizers)
    return [made[measure] for measure in CLAIMED if measure in made]


def claims_across(content: ReportContent, size: int | None = None) -> list[Claim]:
    """Return the best across pre-tokenizers of each measure, if it differs from the best of the measure's claim.

    Corpus, model, suite and size are those of the claim. Without a claim, no two tokenizers share a pre-tokenizer; the
    size is then the largest with two or more ranked. Models with one training are not ranked.

    Args:
        content: content of the report.
        size: the only vocabulary size considered (default: None, all).
    """
    settings = _settings(_groups(content, size)[0])
    ranked = {setting: here for setting, rows in settings.items() if (here := [row for row in rows if _is_ranked(row)])}
    best_by_measure = {claim.measure: claim for claim in best_claims(content, size)}
    made = []
    for measure in CLAIMED:
        if measure == NGRAM and any(setting[0] == BITS for setting in ranked):
            continue
        # Rows of each setting and size in which pre-tokenizers meet.
        sizes: dict[tuple[Setting, int], list[Row]] = {}
        for setting, rows in ranked.items():
            for row in rows if setting[0] == measure else ():
                sizes.setdefault((setting, row["size"]), []).append(row)
        compared = {key: rows for key, rows in sizes.items() if len({row["pretokenization"] for row in rows}) > 1}
        claim = best_by_measure.get(measure)
        if claim is not None:
            own = ((claim.measure, claim.model, claim.suite, claim.corpus), claim.size)
            compared = {key: rows for key, rows in compared.items() if key == own}
        if not compared:
            continue
        first = next(iter(compared))[0]
        largest = max(size for setting, size in compared if setting == first)
        rows = sorted(compared[first, largest], key=_by_value(measure))
        if claim is None or claim.best["variant"] != rows[0]["variant"]:
            made.append(Claim("across", *first, largest, rows))
    return made


def contents_by_corpus(content: ReportContent) -> list[tuple[str, ReportContent]]:
    """Return each corpus of the scoreboard with its rows and those of all corpora, in the order of reading.

    With a single corpus or none, it is the content as it is, with an empty name.
    """
    frame = content.scoreboard
    if frame is None:
        return [("", content)]
    without_corpus = pl.col("measure").is_in(WITHOUT_CORPUS)
    names = content.corpora_of(frame.filter(~without_corpus, pl.col("corpus").fill_null("") != ""))
    if len(names) < 2:
        return [("", content)]
    parts = {name: frame.filter(without_corpus | (pl.col("corpus") == name)) for name in names}
    return [(name, replace(content, frames={**content.frames, SCOREBOARD.name: part})) for name, part in parts.items()]


def _is_ranked(row: Row) -> bool:
    return row["best"] is not None


def _by_value(measure: str) -> Callable[[Row], tuple[float, str]]:
    """Return the sort key of rows of a measure, the best value first."""
    sign = MEASURES[measure].sign
    return lambda row: (sign * row["value"], row["variant"])


def _groups(content: ReportContent, size: int | None) -> tuple[dict[Group, list[Row]], dict[Group, list[Row]]]:
    """Return rows of the scoreboard by group in the order of reading: first ranked rows and those of one training,
    then rows that are not ranked."""
    frame = content.scoreboard
    if frame is None:
        return {}, {}
    frame = frame if size is None else frame.filter(size=size)
    order = {name: number for number, name in enumerate(content.models)}
    by_group: tuple[dict[Group, list[Row]], dict[Group, list[Row]]] = ({}, {})
    for row in frame.filter(pl.col("value").is_not_null(), pl.col("verdict").is_not_null()).iter_rows(named=True):
        setting = (row["measure"], row["model"] or "", row["suite"] or "", row["corpus"] or "")
        by_group[row["verdict"] == UNRANKED].setdefault((*setting, row["pretokenization"]), []).append(row)

    def place(group: Group) -> tuple[Any, ...]:
        model = order.get(group[1].partition(" (")[0], len(order))
        return (model, *group[1:3], content.place_of_corpus(group[3]), content.place_of_pretokenizer(group[4]))

    ranked, unranked = ({key: rows[key] for key in sorted(rows, key=place)} for rows in by_group)
    return ranked, unranked


def _settings(groups: dict[Group, list[Row]]) -> dict[Setting, list[Row]]:
    """Merge the rows of groups that differ only in the pre-tokenizer."""
    merged: dict[Setting, list[Row]] = {}
    for group, rows in groups.items():
        merged.setdefault(group[:4], []).extend(rows)
    return merged


def _best_first(rows: list[Row]) -> list[Row]:
    """Return rows of one size: the best, other ranked ones by value, the rest; empty without a best of two ranked."""
    best = min((row for row in rows if row["verdict"] == BEST), key=lambda row: str(row["variant"]), default=None)
    if best is None or sum(map(_is_ranked, rows)) < 2:
        return []
    by_value = _by_value(best["measure"])
    others = [row for row in rows if row is not best]
    return [best, *sorted(others, key=lambda row: (not _is_ranked(row), by_value(row)))]


def _best_claim(setting: Setting, rows: list[Row], unranked: list[Row]) -> Claim | None:
    """Return the claim on one group; None if no size has a best of two or more ranked variants."""
    by_size: dict[int, list[Row]] = {}
    for row in rows:
        by_size.setdefault(row["size"], []).append(row)
    compared = {size: ordered for size, here in by_size.items() if (ordered := _best_first(here))}
    if not compared:
        return None
    size = max(compared)
    here = compared.pop(size)
    others = [*(row for row in unranked if row["size"] == size), *(row for row in here if not _is_ranked(row))]
    sign = MEASURES[setting[0]].sign
    outdone = any(sign * (row["value"] - here[0]["value"]) < 0 for row in others)
    every_size = {row["size"] for row in (*rows, *unranked)} == {size, *compared}
    return Claim("best", *setting, size, here, sizes=compared, outdone=outdone, every_size=every_size)
