"""What the scoreboard says of each measure in words, and nothing more: the best, and what is told apart from it.

Tokenizers are compared at one size, after correction for all its pairs, with the interval and what it is over.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.numbers import fitting_decimals, printed
from tokbench.report.sections.comparisons import SELECTED
from tokbench.report.wording import listed
from tokbench.statistics.board_alignment import ALL_RESOURCES
from tokbench.statistics.scoreboard import ACCURACY, ALIGNMENT, BITS, LOSSY, NGRAM, SCOREBOARD, TOKENS
from tokbench.statistics.standing import ALIKE, BEST, UNRANKED, UNTESTED
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tidy.table import Kind

Row = dict[str, Any]
"""A row of the scoreboard."""
_NAMED = 4
_HIGHEST = (ACCURACY, ALIGNMENT)
CLAIMED = (TOKENS, BITS, NGRAM, ACCURACY, ALIGNMENT)
_FIRST = {
    TOKENS: "{best} needs the fewest tokens for {corpus}",
    BITS: "with the language model “{model}”, {best} gives the fewest bits per byte",
    NGRAM: "with token n-gram models of {corpus}, {best} gives the fewest bits per byte",
    ACCURACY: "with the language model “{model}”, {best} answers the most questions of the suite “{suite}” right",
    ALIGNMENT: "{best} agrees best with the morphemes of {corpus}",
}

_BEHIND = {
    TOKENS: "needs {} % more",
    BITS: "needs {} bits per byte more",
    NGRAM: "needs {} bits per byte more",
    ACCURACY: "is {} points behind",
    ALIGNMENT: "has an F1 that is {} lower",
}


@dataclass(frozen=True)
class Claim:
    """What is said of one measure at one size.

    Attributes:
        measure, corpus, model, suite, size: whose best is told.
        best: its row of the scoreboard.
        alike: variants that are not told apart from it.
        untested: variants beside it of which nothing was tested.
        ranked: how many are compared, the best included.
        last: the row of the variant furthest behind.
        elsewhere: the best by size, at every size with two or more that are compared.
        on_others: the best at this size by corpus, on every other corpus with two or more that are compared.
        tied: what is not told apart from the best, at another size or on another corpus.
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
    untested: list[str]
    ranked: int
    last: Row
    elsewhere: dict[int, str] = field(default_factory=dict)
    on_others: dict[str, str] = field(default_factory=dict)
    tied: dict[int | str, list[str]] = field(default_factory=dict)
    outdone: bool = False
    every_size: bool = True


def summary(content: ReportContent) -> list[str]:
    """A sentence or two on each measure, four measures at most."""
    chosen = f" {SELECTED}" if content.many else ""
    found = claims(content)
    told = [said(one) + chosen * (one.best["low"] is not None) for one in found[:4]]
    frame = content.frames.get(SCOREBOARD.name)
    told += _which_corpus(content, found)
    if frame is not None and (lossy := sorted(set(frame.filter(reason=LOSSY)["variant"]))):
        told.append(f"Not ranked, since they do not give back all of a text: {few_of(lossy)}.")
    return told + _smaller(content)


def claims(content: ReportContent) -> list[Claim]:
    """Of each measure what is said of it.

    It is said of the first corpus in the order of reading, under the first model and suite, at the largest size at
    which two or more are compared. Bits of n-gram models stand in where there are none of a language model.
    """
    frame = content.frames.get(SCOREBOARD.name)
    if frame is None:
        return []
    order, place = {name: number for number, name in enumerate(content.models)}, content.place_of_corpus
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    unranked: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in frame.filter(pl.col("value").is_not_null(), pl.col("verdict").is_not_null()).iter_rows(named=True):
        of = (row["measure"], row["model"] or "", row["suite"] or "", row["corpus"] or "")
        (unranked if row["verdict"] == UNRANKED else groups).setdefault(of, []).append(row)
    found = []
    for measure in CLAIMED:
        told = sorted(
            (one for one in groups if one[0] == measure),
            key=lambda one: (order.get(one[1].partition(" (")[0], len(order)), *one[1:3], place(one[3])),
        )
        if (
            first := next(filter(None, (_claim(*one, groups[one], unranked.get(one, [])) for one in told)), None)
        ) is not None:
            beside = {one[3]: groups[one] for one in told if one[1:3] == (first.model, first.suite)}
            others = _on_others(beside, first)
            tied: dict[int | str, list[str]] = {corpus: _alike(beside[corpus], first.size) for corpus in others}
            found.append(replace(first, on_others=others, tied={**first.tied, **tied}))
    if any(one.measure == BITS for one in found):
        found = [one for one in found if one.measure != NGRAM]
    return found


def _on_others(beside: dict[str, list[Row]], claim: Claim) -> dict[str, str]:
    """The best of each corpus but the claim's, at its size; corpora in the order in which they are given."""
    found = {}
    for corpus, rows in beside.items():
        here = [row for row in rows if row["size"] == claim.size]
        first = next((row for row in here if row["verdict"] == BEST), None)
        if corpus != claim.corpus and len(here) > 1 and first is not None:
            found[corpus] = str(first["variant"])
    return found


def _alike(rows: list[Row], size: int) -> list[str]:
    """What is not told apart from the best at one size."""
    return sorted(row["variant"] for row in rows if row["size"] == size and row["verdict"] == ALIKE)


def _which_corpus(content: ReportContent, found: list[Claim]) -> list[str]:
    """Of which corpus the sentences are, where the scoreboard has several."""
    about = next((one for one in found if one.on_others), None)
    if about is None:
        return []
    built = list(content.built_from)
    which = "the first of the configuration"
    if about.corpus in built:
        which = f"{'one of the corpora' if len(built) > 1 else 'the corpus'} that the vocabularies were built from"
    rest = listed(list(about.on_others))
    return [f"These sentences are about {about.corpus}, {which}. Above the table, {rest} can be chosen instead."]


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
    alike, untested = ([row["variant"] for row in here if row["verdict"] == kind] for kind in (ALIKE, UNTESTED))
    last = max(here, key=lambda row: (abs(row["behind"] or 0), row["variant"]))
    elsewhere = {size: str(row["variant"]) for size, row in bests.items()}
    tied: dict[int | str, list[str]] = {other: _alike(rows, other) for other in elsewhere if other != size}
    sign = -1 if measure in _HIGHEST else 1
    outdone = any(sign * (row["value"] - bests[size]["value"]) < 0 for row in unranked if row["size"] == size)
    every_size = {row["size"] for row in (*rows, *unranked)} == set(bests)
    names = (measure, corpus, model, suite, size)
    return Claim(*names, bests[size], alike, untested, len(here), last, elsewhere, {}, tied, outdone, every_size)


def said(claim: Claim) -> str:
    """A claim in words."""
    best = claim.best
    text = f"At a vocabulary of {claim.size:,}, {subject(claim)}: {_number(claim, best['value'])}{_interval(claim)}."
    told = (text, _others(claim), other_sizes(claim), *on_other_corpora(claim), one_training(best).strip())
    return " ".join(filter(None, told))


def subject(claim: Claim) -> str:
    """Which tokenizer is the best at what, the middle of a sentence."""
    corpus = "the gold data" if claim.corpus == ALL_RESOURCES else claim.corpus
    best = f"{claim.best['variant']}{', of those ranked,' * claim.outdone}"
    names = {"best": best, "corpus": corpus, "model": claim.model, "suite": claim.suite}
    return _FIRST[claim.measure].format(**names)


def _number(claim: Claim, value: object) -> str:
    assert isinstance(value, float)
    if claim.measure == TOKENS:
        return printed(value, "count")
    if claim.measure == ACCURACY:
        return f"{printed(value, 'percent', 1)} %"
    return printed(value, "real", fitting_decimals([value]))


def _interval(claim: Claim) -> str:
    best = claim.best
    if best["low"] is None:
        return ""
    ends = f"{_number(claim, best['low']).removesuffix(' %')} to {_number(claim, best['high'])}"
    return f" (95 % interval {ends}, over {_drawn(claim)})"


def _drawn(claim: Claim) -> str:
    over, n = str(claim.best["over"]), claim.best["n"]
    seeds = claim.best["seeds"]
    if over == "seeds and documents":
        return f"{seeds} seeds and {n:,} documents"
    return f"{n:,} {over}" + (" of one training" if seeds == 1 else f", a mean of {seeds} seeds" if seeds else "")


def one_training(row: Row) -> str:
    """What intervals leave out where each tokenizer had one training; nothing where it had several, or none."""
    if row["seeds"] != 1:
        return ""
    return f" Each tokenizer had one training: intervals are over its {row['over']}, and another might change them."


def _others(claim: Claim) -> str:
    """What is told apart from the best, and how far the last one is behind."""
    rest = claim.ranked - 1
    tested = rest - len(claim.untested)
    if not tested:
        told = "Nothing tells whether chance made this order: no difference has an interval."
    elif claim.untested:
        near = f", but not from {few_of(claim.alike)}" * bool(claim.alike)
        apart = tested - len(claim.alike)
        told = f"After correction it is told apart from {apart} of {rest} others{near}; nothing tells of "
        told += f"{few_of(claim.untested)}."
    elif not claim.alike:
        told = f"After correction it is told apart from {'the other one' if rest == 1 else f'all {rest} others'}."
    elif len(claim.alike) == rest:
        others = "the other one" if rest == 1 else f"any of the {rest} others"
        told = f"After correction it is not told apart from {others}."
    else:
        apart = rest - len(claim.alike)
        told = f"After correction it is told apart from {apart} of {rest} others, but not from {few_of(claim.alike)}."
    return f"{told} The last, {claim.last['variant']}, {how_far(claim)}." if claim.last["behind"] else told


def how_far(claim: Claim, *, bare: bool = False) -> str:
    """How far the last is behind the best, in the measure's unit, with the interval of the distance unless bare."""
    last = claim.last
    sign = -1 if claim.measure in _HIGHEST else 1
    kind: Kind = "percent" if claim.measure in (TOKENS, ACCURACY) else "real"
    whole = kind == "percent" and abs(last["behind"]) >= 0.0005  # Less is no 0.0 %.
    decimals = 1 if whole else fitting_decimals([last["behind"] * (100 if kind == "percent" else 1)])
    number = printed(sign * last["behind"], kind, decimals)
    far = _BEHIND[claim.measure].format(number)
    if bare or last["behind_low"] is None:
        return far
    low, high = sorted(sign * last[end] for end in ("behind_low", "behind_high"))
    unit = " %" * (claim.measure == TOKENS)
    return f"{far} (95 % interval {printed(low, kind, decimals)} to {printed(high, kind, decimals)}{unit})"


def other_sizes(claim: Claim) -> str:
    """Which is the best at other sizes; nothing where there are none."""
    others = {size: one for size, one in claim.elsewhere.items() if size != claim.size}
    if not others:
        return ""
    best, number = claim.best["variant"], len(claim.elsewhere)
    different = [f"{one} at {size:,}{_tie(claim, size)}" for size, one in sorted(others.items()) if one != best]
    ties = [
        f"at {size:,} {_close(claim, size)}" for size, one in sorted(others.items()) if one == best and claim.tied[size]
    ]
    close = f", {listed(ties)}" if ties else ""
    compared = "" if claim.every_size else " compared"
    if not different:
        return f"{best} comes first at {'both' if number == 2 else f'all {number}'} sizes{compared}{close}."
    if len(different) == len(others):
        at = f"{'other sizes' if number > 2 else 'the other size'}{compared}"
        return f"At {at} the first is another: {few_of(different)}."
    at = f"{number - len(different)} of {number}"
    return f"{best} comes first at {at} sizes{compared}{close}; at the others it is {few_of(different)}."


def _tie(claim: Claim, where: int | str) -> str:
    """What is not told apart from the best of another size or corpus, behind its name."""
    return f" ({_close(claim, where)})" if claim.tied.get(where) else ""


def _close(claim: Claim, where: int | str) -> str:
    return f"not told apart from {few_of(claim.tied[where])}"


def on_other_corpora(claim: Claim) -> list[str]:
    """On which other corpora it is the best as well, and which is the best on the others."""
    first: dict[str, list[str]] = {}
    for corpus, variant in claim.on_others.items():
        first.setdefault(variant, []).append(f"{corpus}{_tie(claim, corpus)}")
    same = first.pop(str(claim.best["variant"]), [])
    different = [f"{variant} on {listed(corpora)}" for variant, corpora in first.items()]
    told = [f"{claim.best['variant']} comes first on {few_of(same)}, too."] * bool(same)
    told += [f"On other texts the first is another: {few_of(different)}."] * bool(different)
    return told


def _smaller(content: ReportContent) -> list[str]:
    """Which vocabularies stand under a size that they do not have, since a text may yield fewer tokens."""
    measured = content.frames.get(INTRINSIC.name)
    if measured is None:
        return []
    sizes = measured.filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    found = sizes.select("variant", "size", "value").unique().sort("variant", "size").rows()
    told: dict[str, list[str]] = {}
    for variant, size, tokens in found:
        kind = (
            "others of their size, so not ranked"
            if (variant, size) in content.fewer
            else "their size, but not than others of it"
        )
        told.setdefault(kind, []).append(f"{variant} ({printed(tokens, 'count')} of {size:,})")
    return [f"Built with fewer tokens than {kind}: {few_of(names)}." for kind, names in told.items()]


def few_of(names: list[str]) -> str:
    """The names, or three of them and how many more there are."""
    return listed(names) if len(names) <= _NAMED else listed([*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"])
