"""Sentences on each measure of the scoreboard: the best, verdicts on the others, other sizes and corpora.

Tokenizers are compared at one size, after correction for all pairs of that size. The short form is in
:mod:`tokbench.report.answer`.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from tokbench.report.claims import HIGHEST, Claim, Crossing, Numbers, Row, claims, crossings, numbers
from tokbench.report.comparison_sentences import SELECTED, difference_texts
from tokbench.report.content import UNKNOWN_PRETOKENIZER, ReportContent
from tokbench.report.wording import fitting_decimals, listed, pluralise, printed
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BITS, NGRAM, TOKENS
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES
from tokbench.statistics.significance.eligibility import LOSSY, ONE_TRAINING
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE, NOT_TESTED, in_full
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.table import Kind

_NAMED = 4
_FIRST = {
    TOKENS: "{best} needs the fewest tokens for {corpus}",
    BITS: "with the language model “{model}”, {best} has the fewest bits per byte",
    NGRAM: "with token n-gram models of {corpus}, {best} has the fewest bits per byte",
    ACCURACY: "with the language model “{model}”, {best} has the highest accuracy on the suite “{suite}”",
    ALIGNMENT: "{best} has the best alignment with the morphemes of {corpus}",
}

_NUMBERS = {
    BITS: "bits per byte with the language model “{model}”",
    ACCURACY: "accuracy of the language model “{model}” on the suite “{suite}”",
}
ANOTHER_SEED = "Another seed could change their order."
_UNITS = {BITS: " bits per byte", NGRAM: " bits per byte", ALIGNMENT: " of F1"}
_BEHIND = {
    TOKENS: "needs {} % more",
    BITS: "needs {} bits per byte more",
    NGRAM: "needs {} bits per byte more",
    ACCURACY: "is {} points lower",
    ALIGNMENT: "has an F1 that is {} lower",
}


def summary(content: ReportContent) -> list[str]:
    """Return a few sentences on each measure, for at most four measures, and on tokenizers that are not ranked.

    Args:
        content: content of the report.
    """
    chosen = f" {SELECTED}" if content.has_many_variants else ""
    found = claims(content)
    sentences = [claim_text(one) + chosen * (one.last["behind_low"] is not None) for one in found[:4]]
    sentences += [crossed(one) for one in crossings(content)]
    sentences += [f"{unranked(one, content)} {ANOTHER_SEED}" for one in numbers(content)]
    frame = content.frames.get(SCOREBOARD.name)
    sentences += _which_corpus(content, found)
    if frame is not None and (lossy := sorted(set(frame.filter(reason=LOSSY)["variant"]))):
        sentences.append(f"Not ranked, because they lose text: {few_of(lossy)}.")
    return sentences + _smaller(content)


def _which_corpus(content: ReportContent, found: list[Claim]) -> list[str]:
    """Return a sentence on the corpus of the claims, if the scoreboard has several."""
    about = next((one for one in found if one.on_others), None)
    if about is None:
        return []
    built = list(content.built_from)
    which = "the first in the configuration"
    if about.corpus in built:
        which = f"{'one of the corpora' if len(built) > 1 else 'the corpus'} that the vocabularies were built from"
    rest = listed(list(about.on_others))
    return [f"These sentences are about {about.corpus}, {which}. The selection above the table also has {rest}."]


def claim_text(claim: Claim) -> str:
    """Return a claim in sentences."""
    best = claim.best
    text = f"{among(claim)}, {subject(claim)}: {number(claim, best['value'])}{_interval(claim)}."
    sentences = (text, _verdicts(claim), other_sizes(claim), *on_other_corpora(claim))
    return " ".join(filter(None, sentences))


def unranked(found: Numbers, content: ReportContent) -> str:
    """Return a sentence with the two ends of numbers that are not tested, with pre-tokenizers if these differ.

    Args:
        found: the numbers.
        content: content of the report.
    """
    first, last = found.rows[0], found.rows[-1]
    decimals = fitting_decimals([row["value"] for row in (first, last)])
    named = [f"{number(found, row['value'], decimals)} ({_named(row, content)})" for row in (first, last)]
    span = named[0] if len(found.rows) == 1 else f"from {named[0]} to {named[1]}"
    of = _NUMBERS[found.measure].format(model=found.model, suite=found.suite)
    return f"At a vocabulary of {found.size:,}, {of}: {span}; {ONE_TRAINING}."


def _named(row: Row, content: ReportContent) -> str:
    own = f", pre-tokenizer {row['pretokenization'] or UNKNOWN_PRETOKENIZER}"
    return f"{row['variant']}{own * content.several_pretokenizers}"


def states(claim: Claim) -> str:
    """Return the verdicts on all but the best: significantly worse, no significant difference, not tested."""
    rest = claim.ranked - 1
    worse = rest - len(claim.alike) - len(claim.untested)
    sentences = [f"significantly worse: {_of_all(rest) if worse == rest else f'{worse} of {rest} others'}"] * bool(
        worse
    )
    return "; ".join([*sentences, *_undecided(claim.alike, claim.untested, rest)])


def _undecided(alike: list[str], untested: Mapping[str, str], rest: int = 0) -> list[str]:
    """Return the variants without a significant difference, and the untested ones with their reasons.

    Args:
        alike: as in :class:`tokbench.report.claims.Claim`.
        untested: as in :class:`tokbench.report.claims.Claim`.
        rest: number of variants other than the best; if all belong to one verdict, they are counted and not named
            (default: 0, always named).
    """

    def name(variants: list[str]) -> str:
        return _of_all(rest) if len(variants) == rest else few_of(variants)

    sentences = [f"{NO_DIFFERENCE}: {name(alike)}"] * bool(alike)
    for reason in dict.fromkeys(untested.values()):
        why = reason.removeprefix("not tested: ") or "no interval"
        sentences.append(f"not tested ({why}): {name([one for one in untested if untested[one] == reason])}")
    return sentences


def _of_all(rest: int) -> str:
    return {1: "the other one", 2: "both others"}.get(rest, f"all {rest} others")


def among(claim: Claim) -> str:
    """Return the beginning of a sentence: the size, and the pre-tokenizer if there are several."""
    at = f"t a vocabulary of {claim.size:,}"
    return f"Among tokenizers with the pre-tokenizer {claim.pretokenizer}, a{at}" if claim.pretokenizer else f"A{at}"


def crossed(crossing: Crossing) -> str:
    """Name the best of all pre-tokenizers and its difference from the baseline, with both pre-tokenizers."""
    row = crossing.best
    best = f"{row['variant']} (pre-tokenizer {row['pretokenization'] or UNKNOWN_PRETOKENIZER})"
    text = f"Across pre-tokenizers, at a vocabulary of {crossing.size:,}, {_first(crossing, best)}"
    other = row["baseline_pretokenization"] or UNKNOWN_PRETOKENIZER
    if row["difference"] is None:
        return f"{text}. The pre-tokenizers differ, so this compares more than the constructions."
    significant = {
        NOT_TESTED: in_full(row["difference_reason"]),
        NO_DIFFERENCE: "not significant after correction",
    }.get(row["difference_verdict"], "significant after correction")
    difference, ends = difference_texts(crossing.measure, row, [row])
    interval = f" (95 % interval {ends})" if ends else ""
    return (
        f"{text}; the difference from the baseline {row['baseline']} (pre-tokenizer {other}) is "
        f"{difference}{_UNITS.get(crossing.measure, '')}{interval}, {significant}. The pre-tokenizers differ, so this "
        "compares more than the constructions."
    )


def subject(claim: Claim) -> str:
    """Return the middle of a sentence: the best tokenizer and its measure."""
    return _first(claim, f"{claim.best['variant']}{', of those ranked,' * claim.outdone}")


def _first(claim: Claim | Crossing, best: str) -> str:
    corpus = "the gold data" if claim.corpus == ALL_RESOURCES else claim.corpus
    names = {"best": best, "corpus": corpus, "model": claim.model, "suite": claim.suite}
    return _FIRST[claim.measure].format(**names)


def number(claim: Claim | Crossing | Numbers, value: object, decimals: int | None = None) -> str:
    """Print a value in the unit of its measure."""
    assert isinstance(value, float)
    if claim.measure == TOKENS:
        return printed(value, "count")
    if claim.measure == ACCURACY:
        return f"{printed(value, 'percent', 1)} %"
    return printed(value, "real", fitting_decimals([value]) if decimals is None else decimals)


def _interval(claim: Claim) -> str:
    best = claim.best
    if best["low"] is None:
        return ""
    ends = f"{number(claim, best['low']).removesuffix(' %')} to {number(claim, best['high'])}"
    return f" (95 % interval {ends}, over {_drawn(claim)})"


def _drawn(claim: Claim) -> str:
    over, n = str(claim.best["over"]), claim.best["n"]
    seeds = claim.best["seeds"]
    units = over.removeprefix("seeds and ")
    return f"{pluralise(seeds, 'seed')} and {n:,} {units}" if seeds else f"{n:,} {units}"


def _verdicts(claim: Claim) -> str:
    """Return the verdicts on the others, and the difference of the worst from the best."""
    verdicts = states(claim)
    verdicts = (
        f"After correction, {verdicts}." if len(claim.untested) < claim.ranked - 1 else f"{verdicts.capitalize()}."
    )
    return f"{verdicts} The worst, {claim.last['variant']}, {how_far(claim)}." if claim.last["behind"] else verdicts


def how_far(claim: Claim) -> str:
    """Return the difference of the worst from the best, in the measure's unit, with its interval."""
    last = claim.last
    sign = -1 if claim.measure in HIGHEST else 1
    kind: Kind = "percent" if claim.measure in (TOKENS, ACCURACY) else "real"
    whole = kind == "percent" and abs(last["behind"]) >= 0.0005  # Smaller differences would print as 0.0 %.
    decimals = 1 if whole else fitting_decimals([last["behind"] * (100 if kind == "percent" else 1)])
    number = printed(sign * last["behind"], kind, decimals)
    far = _BEHIND[claim.measure].format(number)
    if last["behind_low"] is None:
        return far
    low, high = sorted(sign * last[end] for end in ("behind_low", "behind_high"))
    unit = " %" * (claim.measure == TOKENS)
    return f"{far} (95 % interval {printed(low, kind, decimals)} to {printed(high, kind, decimals)}{unit})"


def other_sizes(claim: Claim) -> str:
    """Return a sentence on the best at other sizes; empty if there are none."""
    others = {size: one for size, one in claim.best_by_size.items() if size != claim.size}
    if not others:
        return ""
    best, number = claim.best["variant"], len(claim.best_by_size)
    different = [f"{one} at {size:,}{_tie(claim, size)}" for size, one in sorted(others.items()) if one != best]
    ties = [
        f"at {size:,} {_close(claim, size)}"
        for size, one in sorted(others.items())
        if one == best and any(claim.tied[size])
    ]
    close = f", {listed(ties)}" if ties else ""
    compared = "" if claim.every_size else " compared"
    if not different:
        return f"{best} is best at {'both' if number == 2 else f'all {number}'} sizes{compared}{close}."
    if len(different) == len(others):
        at = f"{'other sizes' if number > 2 else 'the other size'}{compared}"
        return f"Best at {at}: {few_of(different)}."
    at = f"{number - len(different)} of {number}"
    return f"{best} is best at {at} sizes{compared}{close}; best at the others: {few_of(different)}."


def _tie(claim: Claim, where: int | str) -> str:
    """Return the undecided variants of another size or corpus, in brackets."""
    return f" ({_close(claim, where)})" if any(claim.tied.get(where, ())) else ""


def _close(claim: Claim, where: int | str) -> str:
    return "; ".join(_undecided(*claim.tied[where]))


def on_other_corpora(claim: Claim) -> list[str]:
    """Return sentences on the best for other corpora."""
    first: dict[str, list[str]] = {}
    for corpus, variant in claim.on_others.items():
        first.setdefault(variant, []).append(f"{corpus}{_tie(claim, corpus)}")
    same = first.pop(str(claim.best["variant"]), [])
    different = [f"{variant} on {listed(corpora)}" for variant, corpora in first.items()]
    sentences = [f"{claim.best['variant']} is also best on {few_of(same)}."] * bool(same)
    sentences += [f"Best on other texts: {few_of(different)}."] * bool(different)
    return sentences


def _smaller(content: ReportContent) -> list[str]:
    """Return sentences on vocabularies with fewer tokens than requested."""
    measured = content.frames.get(INTRINSIC.name)
    if measured is None:
        return []
    sizes = measured.filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    found = sizes.select("variant", "size", "value").unique().sort("variant", "size").rows()
    names_by_kind: dict[str, list[str]] = {}
    for variant, size, tokens in found:
        kind = (
            "others of their size, so not ranked"
            if (variant, size) in content.fewer
            else "requested, like all others of their size"
        )
        names_by_kind.setdefault(kind, []).append(f"{variant} ({printed(tokens, 'count')} of {size:,})")
    return [f"Built with fewer tokens than {kind}: {few_of(names)}." for kind, names in names_by_kind.items()]


def few_of(names: Sequence[str]) -> str:
    """Join up to four names; of more names, the first three and the number of the others."""
    return listed(names) if len(names) <= _NAMED else listed([*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"])
