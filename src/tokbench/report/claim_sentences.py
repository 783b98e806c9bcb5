"""Sentences on the claims of the scoreboard: those of the answer, and those of its details."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokbench.report.measure_words import MEASURES, value_text
from tokbench.report.sentences import (
    MAX_NAMED,
    SENTENCES,
    Statement,
    baseline_sentence,
    difference_texts,
    fill,
    statement,
)
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, fitting_decimals, format_value, join_all, join_some, pluralise
from tokbench.statistics.comparisons.families import ALIKE, BASELINE, UNTESTED
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE, NOT_TESTED, in_full

if TYPE_CHECKING:
    from tokbench.report.claims import Claim, Row


def claim_statement(claim: "Claim", across: "Claim | None" = None, missed: str = "") -> Statement:
    """Return a claim as heading and text of the answer.

    Args:
        claim: a claim of any kind.
        across: the claim on the best across pre-tokenizers, which ends the text of the best (default: none).
        missed: last sentence, on differences that are too small to detect (default: none).
    """
    ending = f"With another pre-tokenizer: {baseline_sentence(across.best)}" if across else ""
    return statement(claim.kind, **_parts(claim), across=ending, missed=missed)


def claim_text(claim: "Claim") -> str:
    """Return a claim in the sentences of the details of the answer."""
    return fill(SENTENCES[claim.kind].details, _parts(claim))


def _parts(claim: "Claim") -> dict[str, object]:
    """Return the parts of the templates of a claim."""
    words, best, measure = MEASURES[claim.measure], claim.best, claim.measure
    pretokenizer = best["pretokenization"] or UNKNOWN_PRETOKENIZER
    source = _with_names(words.source, claim)
    parts: dict[str, object] = {"words": words, "size": claim.size, "variant": best["variant"]}
    # Parts of values without a ranking.
    if claim.kind == "unranked":
        several = len({row["pretokenization"] for row in claim.rows}) > 1
        return parts | {
            "source": source[1:2].upper() + source[2:],
            "values": _with_names(words.values, claim),
            "span": _ends(claim, "{}" if several else "") + _middle(claim),
            "named_span": _ends(claim, "pre-tokenizer {}" if claim.several_pretokenizers else ""),
        }
    # Parts of a best value, then those of the best across pre-tokenizers or of one.
    parts |= {"comparison": baseline_sentence(best), "value": f"{value_text(measure, best['value'], 3)}{source}"}
    if claim.kind == "across":
        clause = _with_names(words.clause, claim, f"{best['variant']} (pre-tokenizer {pretokenizer})")
        return parts | {"pretokenizer": pretokenizer, "clause": clause, "difference": _from_baseline(claim)}
    return parts | {
        "of_ranked": " of those ranked" * claim.outdone,
        "baseline": ", the baseline." * (best["difference_verdict"] == BASELINE),
        "own": f", pre-tokenizer {claim.pretokenizer}" * bool(claim.pretokenizer),
        "others": _others(claim),
        "among": _group(claim),
        "clause": _with_names(words.clause, claim, f"{best['variant']}{', of those ranked,' * claim.outdone}"),
        "fitted_value": value_text(measure, best["value"]),
        "interval": _interval(claim),
        "verdicts": _verdicts(claim),
        "worst": _worst(claim),
        "other_sizes": _other_sizes(claim),
        "other_corpora": _other_corpora(claim),
    }


def _with_names(text: str, claim: "Claim", best: str = "") -> str:
    """Return words of a measure with the names of a claim."""
    return text.format(best=best, corpus=claim.text, model=claim.model, suite=claim.suite)


def _others(claim: "Claim") -> str:
    """Return the sentence on the other tokenizers in the answer; empty if all differ significantly from the best."""
    best = claim.best
    if best["difference_verdict"] == BASELINE:
        return f"Next: {baseline_sentence(claim.rows[1])}"
    if best["difference"] is None:
        return f"Compared with the others: {_states(claim)}."
    alike = [variant for variant in undecided_variants(claim.rows)[0] if variant != best["baseline"]]
    return f"{NO_DIFFERENCE.capitalize()} from {join_some(alike, MAX_NAMED)}." if alike else ""


def _ends(claim: "Claim", label: str) -> str:
    """Return the first and the last of values that are not ranked.

    Args:
        claim: a claim on values that are not ranked.
        label: text on a pre-tokenizer ``{}``; empty for none.
    """
    decimals = _decimals(claim)
    ends = [
        f"{value_text(claim.measure, row['value'], decimals)} "
        f"({', '.join(filter(None, [row['variant'], label.format(row['pretokenization'] or UNKNOWN_PRETOKENIZER)]))})"
        for row in (claim.best, claim.rows[-1])
    ]
    return ends[0] if len(claim.rows) == 1 else f"from {ends[0]} to {ends[1]}"


def _middle(claim: "Claim") -> str:
    """Return a clause on the baseline's value between the two ends; empty if it is one of them."""
    row = next((row for row in claim.rows[1:-1] if row["variant"] == row["baseline"]), None)
    return f"; {row['variant']} has {value_text(claim.measure, row['value'], _decimals(claim))}" if row else ""


def _decimals(claim: "Claim") -> int:
    """Return the decimals of values that are not ranked."""
    return fitting_decimals([row["value"] for row in (claim.best, claim.rows[-1])])


def _from_baseline(claim: "Claim") -> str:
    """Return a clause on the difference of the best across pre-tokenizers from the baseline; empty if there is none."""
    row = claim.best
    if row["difference"] is None:
        return ""
    significance = {
        NOT_TESTED: in_full(row["difference_reason"]),
        NO_DIFFERENCE: "not significant after correction",
    }.get(row["difference_verdict"], "significant after correction")
    difference, ends = difference_texts(claim.measure, row, [row])
    interval = f" (95 % interval {ends})" if ends else ""
    other = row["baseline_pretokenization"] or UNKNOWN_PRETOKENIZER
    noun = MEASURES[claim.measure].noun
    return (
        f"; the difference from the baseline {row['baseline']} (pre-tokenizer {other}) is {difference}{noun}"
        f"{interval}, {significance}"
    )


def undecided_variants(rows: Sequence["Row"]) -> tuple[list[str], dict[str, str]]:
    """Return the variants without a significant difference from the best, and the untested ones with their reasons.

    Args:
        rows: rows of the scoreboard of one group and size.
    """
    ordered = sorted(rows, key=lambda row: str(row["variant"]))
    untested = {row["variant"]: row["reason"] or "" for row in ordered if row["verdict"] == UNTESTED}
    return [row["variant"] for row in ordered if row["verdict"] == ALIKE], untested


def _states(claim: "Claim") -> str:
    """Return the verdicts on all but the best: significantly worse, no significant difference, not tested."""
    rest = len(claim.rows) - 1
    worse = rest - sum(map(len, undecided_variants(claim.rows)))
    sentences = [f"significantly worse: {_all_others(rest) if worse == rest else f'{worse} of {rest} others'}"]
    return "; ".join([*sentences * bool(worse), *_undecided(claim.rows, rest)])


def _undecided(rows: Sequence["Row"], rest: int = 0) -> list[str]:
    """Return the variants without a significant difference, and the untested ones with their reasons, as clauses.

    Args:
        rows: as in :func:`undecided_variants`.
        rest: number of variants other than the best; if all belong to one verdict, they are counted and not named
            (default: 0, always named).
    """
    alike, untested = undecided_variants(rows)

    def name(variants: list[str]) -> str:
        return _all_others(rest) if len(variants) == rest else join_some(variants, MAX_NAMED)

    clauses = [f"{NO_DIFFERENCE}: {name(alike)}"] * bool(alike)
    for reason in dict.fromkeys(untested.values()):
        why = reason.removeprefix("not tested: ") or "no interval"
        clauses.append(f"not tested ({why}): {name([variant for variant in untested if untested[variant] == reason])}")
    return clauses


def _all_others(rest: int) -> str:
    return {1: "the other one", 2: "both others"}.get(rest, f"all {rest} others")


def _group(claim: "Claim") -> str:
    """Return the beginning of a sentence: the size, and the pre-tokenizer if there are several."""
    at = f"t a vocabulary of {claim.size:,}"
    return f"Among tokenizers with the pre-tokenizer {claim.pretokenizer}, a{at}" if claim.pretokenizer else f"A{at}"


def _interval(claim: "Claim") -> str:
    """Return the interval of the best value with its units and seeds, in brackets; empty if there is none."""
    best = claim.best
    if best["low"] is None:
        return ""
    low, high = (value_text(claim.measure, best[end]) for end in ("low", "high"))
    units = f"{best['n']:,} {str(best['over']).removeprefix('seeds and ')}"
    drawn = f"{pluralise(best['seeds'], 'seed')} and {units}" if best["seeds"] else units
    return f" (95 % interval {low.removesuffix(' %')} to {high}, over {drawn})"


def _verdicts(claim: "Claim") -> str:
    """Return the verdicts on the others as a sentence."""
    states = _states(claim)
    tested = len(undecided_variants(claim.rows)[1]) < len(claim.rows) - 1
    return f"After correction, {states}." if tested else f"{states.capitalize()}."


def worst_row(claim: "Claim") -> "Row":
    """Return the row with the largest difference from the best."""
    return max(claim.rows, key=lambda row: (abs(row["behind"] or 0), row["variant"]))


def _worst(claim: "Claim") -> str:
    """Return the sentence on the worst, with its difference from the best; empty if there is no difference."""
    worst, words = worst_row(claim), MEASURES[claim.measure]
    if not worst["behind"]:
        return ""
    kind, behind = words.difference_kind, words.sign * worst["behind"]
    large = words.percent and abs(behind) >= 0.0005  # Smaller differences would print as 0.0 %.
    decimals = 1 if large else fitting_decimals([behind * (100 if words.percent else 1)])
    text = f"The worst, {worst['variant']}, {words.behind.format(format_value(behind, kind, decimals))}"
    if worst["behind_low"] is None:
        return f"{text}."
    low, high = sorted(words.sign * worst[end] for end in ("behind_low", "behind_high"))
    ends = f"{format_value(low, kind, decimals)} to {format_value(high, kind, decimals)}{words.end_unit}"
    return f"{text} (95 % interval {ends})."


def _other_sizes(claim: "Claim") -> str:
    """Return a sentence on the best at other sizes; empty if there are none."""
    if not claim.sizes:
        return ""
    best, number = claim.best["variant"], len(claim.sizes) + 1
    bests = {size: rows[0]["variant"] for size, rows in sorted(claim.sizes.items())}
    close = {size: "; ".join(_undecided(rows)) for size, rows in claim.sizes.items()}
    different = [f"{name} at {size:,}{_in_brackets(close[size])}" for size, name in bests.items() if name != best]
    ties = [f"at {size:,} {close[size]}" for size, name in bests.items() if name == best and close[size]]
    tied = f", {join_all(ties)}" if ties else ""
    compared = "" if claim.every_size else " compared"
    if not different:
        return f"{best} is best at {'both' if number == 2 else f'all {number}'} sizes{compared}{tied}."
    if len(different) == len(bests):
        return (
            f"Best at {'other sizes' if number > 2 else 'the other size'}{compared}: {join_some(different, MAX_NAMED)}."
        )
    at = f"{number - len(different)} of {number} sizes{compared}"
    return f"{best} is best at {at}{tied}; best at the others: {join_some(different, MAX_NAMED)}."


def _other_corpora(claim: "Claim") -> str:
    """Return sentences on the best for other corpora."""
    by_best: dict[str, list[str]] = {}
    for corpus, rows in claim.corpora.items():
        close = _in_brackets("; ".join(_undecided(rows)))
        by_best.setdefault(rows[0]["variant"], []).append(f"{corpus}{close}")
    same = by_best.pop(claim.best["variant"], [])
    different = [f"{variant} on {join_all(corpora)}" for variant, corpora in by_best.items()]
    sentences = [f"{claim.best['variant']} is also best on {join_some(same, MAX_NAMED)}."] * bool(same)
    sentences += [f"Best on other texts: {join_some(different, MAX_NAMED)}."] * bool(different)
    return " ".join(sentences)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
