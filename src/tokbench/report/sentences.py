"""Sentences on comparisons and claims, the same in the terminal, in Python, on pages and in the report.

:data:`SENTENCES` has the text of each kind of claim. The functions below fill it with names and numbers in print.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.report.measure_words import MEASURES, value_text, words_of
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, fitting_decimals, format_value, join_all, join_some, pluralise
from tokbench.statistics.comparisons.families import ALIKE, BASELINE, UNTESTED
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.verdicts import IN_WORDS, NO_DIFFERENCE, NOT_TESTED, in_full

if TYPE_CHECKING:
    from tokbench.report.claims import Claim, Row

ANOTHER_SEED = "Another seed could change their order."
SELECTED = (
    "The best is selected by the numbers that it is tested on, so its p-values, corrected or not, are too small rather "
    "than too large."
)
"""Note on tests of the best."""
DIFFERENCE = ("difference", "difference_low", "difference_high")
"""Columns of the scoreboard: difference from the baseline, and its interval."""
MAX_NAMED = 4
"""Most names of a list in a sentence."""
MAX_DECIMALS = 6
"""Largest number of decimals; two ends of an interval print differently if that many suffice."""


@dataclass(frozen=True)
class Template:
    """Text of a kind of claim. Empty parts leave no space.

    Attributes:
        text: the sentence, or the text under a heading.
        heading: heading in the answer (default: none).
        details: text in the details of the answer (default: none).
    """

    text: str
    heading: str = ""
    details: str = ""


SENTENCES: Mapping[str, Template] = {
    # Two tokenizers.
    "comparison": Template("{a} {verb} {b}{setting} ({evidence}): {verdict}."),
    # Claims of the scoreboard.
    "best": Template(
        "{comparison} {value}{own}. {others} {across} {missed}",
        "{words.heading}{of_ranked}: {variant}{baseline}",
        "{among}, {clause}: {fitted_value}{interval}. {verdicts} {worst} {other_sizes} {other_corpora}",
    ),
    "across": Template(
        "{comparison} {value}. {missed}",
        "{words.heading}: {variant} ({pretokenizer})",
        "Across pre-tokenizers, at a vocabulary of {size:,}, {clause}{difference}. The pre-tokenizers differ, so this "
        "compares more than the constructions.",
    ),
    "unranked": Template(
        "{source}: {span}. {missed}",
        "{words.name}: no ranking, one training of each.",
        f"At a vocabulary of {{size:,}}, {{values}}: {{named_span}}; {ONE_TRAINING}.",
    ),
    "existing": Template(
        "{comparison} {value} {others} {languages} {lossy}", "Most bytes per token: {variant} ({size}){baseline}."
    ),
    "orders over size": Template(
        "Models of {low} to {high} parameters: the order at the largest size was that at the next smaller one in "
        "{held} of {pairs} of tokenizers."
    ),
    # Limits of the answer.
    "own sizes": Template(
        "{low} to {high} tokens. A larger vocabulary alone needs fewer tokens, and more rows of embeddings.",
        "Vocabulary sizes of existing tokenizers differ:",
    ),
    "text": Template("Evaluated on {corpus}{extent}. {built}", "Another text can change the order."),
    "shared text": Template("Of its bytes, {shares}.", "Part of the text also occurs in training text."),
    "models": Template("Tokens read in training: {tokens}. {orders}", "Larger language models can differ."),
    "one training": Template(f"One training of each. {ANOTHER_SEED}", "Language models are not ranked."),
    "two trainings": Template(
        "Two trainings of each; a test needs three.", "No difference of language models is significant."
    ),
    "pre-tokenizers": Template("{groups}. Compare training methods within one of them.", "Pre-tokenizers differ:"),
    "missed": Template(
        "True differences under about {differences} would probably be missed.",
        "No significant difference does not mean equal.",
    ),
    "demonstration": Template("Its text is the documentation that comes with Python.", "This is a demonstration."),
    # The answer of the command line.
    "no baseline": Template("No tokenizer is compared with a baseline of the same pre-tokenizer."),
    "none better": Template("{at} no tokenizer needs significantly fewer tokens than {baseline}."),
    "fewest tokens": Template("{at} {comparison}"),
    # Tokenizers and corpora of the details.
    "corpus": Template("These sentences are about {corpus}, {which}. The selection above the table also has {others}."),
    "lossy": Template("Not ranked, because they lose text: {names}."),
    "undersized": Template("Built with fewer tokens than {others}: {names}."),
}
"""Text by kind of claim."""


SEEDS = "seeds and "
"""Beginning of the name of units, if seeds are random, too."""


@dataclass(frozen=True)
class Statement:
    """A heading and the sentences under it.

    Attributes:
        head: short heading.
        text: sentences under the heading.
        corpus: the corpus of a statement on one of several corpora; empty otherwise.
    """

    head: str
    text: str
    corpus: str = ""


def sentence(kind: str, **parts: object) -> str:
    """Return the sentence of a kind of claim, see :data:`SENTENCES`, with its parts filled in."""
    return _fill(SENTENCES[kind].text, parts)


def statement(kind: str, **parts: object) -> Statement:
    """Return heading and text of a kind of claim, see :data:`SENTENCES`, with their parts filled in."""
    return Statement(_fill(SENTENCES[kind].heading, parts), _fill(SENTENCES[kind].text, parts))


def _fill(template: str, parts: Mapping[str, object]) -> str:
    """Return a template with its parts; an empty part takes the space before it along."""
    for name in (name for name, value in parts.items() if value == ""):
        template = template.replace(f" {{{name}}}", "").removeprefix(f"{{{name}}} ")
    return template.format(**parts)


def comparison_sentence(row: Mapping[str, Any]) -> str:
    """Return a comparison as a sentence: difference, interval, units and seeds, and verdict.

    Args:
        row: columns of :data:`tokbench.statistics.comparisons.paired_comparisons.PAIRED_COMPARISONS`. Pre-tokenizers
            are named if they differ, and so are the sizes ``size_a`` and ``size_b``, if the row has them.

    Examples:
        unigram needs 3.2 % more tokens than bpe (95 % interval +2.9 % to +3.5 %; 251 documents): significantly worse.
    """
    a, b = (_name_with_differences(row, side) for side in ("a", "b"))
    words, reason = words_of(row["measure"]), row.get("reason")
    named = row.get("model") or "{model}" not in words.setting
    return sentence(
        "comparison",
        a=a,
        b=b,
        verb=_verb(row),
        setting=words.setting.format_map(row) if named else "",
        evidence=_evidence(row),
        verdict=in_full(reason) if row["verdict"] == NOT_TESTED else IN_WORDS.get(row["verdict"], row["verdict"]),
    )


def _name_with_differences(row: Mapping[str, Any], side: str) -> str:
    """Return the name of a side, with its size and its pre-tokenizer if the other side has another."""
    parts = []
    if row.get("size_a") != row.get("size_b"):
        size = row[f"size_{side}"]
        parts.append("size not known" if size is None else pluralise(size, "token"))
    if row.get("pretokenization_a") != row.get("pretokenization_b"):
        parts.append(f"pre-tokenizer {row.get(f'pretokenization_{side}') or UNKNOWN_PRETOKENIZER}")
    return f"{row[side]} ({', '.join(parts)})" if parts else str(row[side])


def baseline_sentence(row: Mapping[str, Any], sizes: Mapping[str, int | None] | None = None) -> str:
    """Return the sentence on a tokenizer against the baseline; empty for the baseline itself.

    Args:
        sizes: ``size_a`` and ``size_b`` of the two, if they can differ (default: none).
        row: row of the scoreboard, see :data:`tokbench.statistics.comparisons.scoreboard.SCOREBOARD`.
    """
    if row["difference_verdict"] == BASELINE:
        return ""
    if row["difference"] is None:
        return f"{in_full(row['difference_reason'] or 'no baseline').capitalize()}."
    pair = {"a": row["variant"], "b": row["baseline"]} | {name: row[name] for name in ("measure", "model", "suite")}
    sides = {"pretokenization_a": row["pretokenization"], "pretokenization_b": row["baseline_pretokenization"]}
    columns = ("difference", "low", "high", "verdict", "reason", "n", "unit")
    numbers = {name: row[name if name == "difference" else f"difference_{name}"] for name in columns}
    return comparison_sentence({**pair, **sides, **numbers, **(sizes or {}), "seeds": row["seeds"]})


def difference_texts(measure: str, row: Mapping[str, Any], column: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return a difference from the baseline with its unit, and its interval (empty if none), in print.

    Args:
        measure: measure of the difference.
        row: row of the scoreboard.
        column: rows of the same column, which determine the decimals.
    """
    words = words_of(measure)
    known = [abs(value) for other in column for name in DIFFERENCE if (value := other[name])]
    decimals = 1 + (min(known, default=1) < 0.0005) if words.percent else fitting_decimals(known or [0.0])
    difference, *ends = (
        _with_sign(value, measure, decimals) for name in DIFFERENCE if (value := row[name]) is not None
    )
    return difference + words.unit, " to ".join(ends)


def count_units(number: int, units: str) -> str:
    """Return a number of units: ``1 document``, ``12 authors``, ``3 clusters of questions``, ``seeds and 5 words``."""
    if units.startswith(SEEDS):
        return SEEDS + count_units(number, units.removeprefix(SEEDS))
    first, *rest = units.split(" ")
    name = " ".join([first.removesuffix("s"), *rest]) if number == 1 else units
    return f"{number:,} {name}"


def _verb(row: Mapping[str, Any]) -> str:
    """Return the verb of a comparison with its number, such as "needs 3.2 % more tokens than"."""
    words, difference = words_of(row["measure"]), row["difference"]
    if not difference:
        return words.equal
    return (words.lower if difference < 0 else words.higher).format(_numbers(row)[0].lstrip("+−") + words.unit)


def _evidence(row: Mapping[str, Any]) -> str:
    """Return interval, units and seeds, such as "95 % interval −0.034 to −0.021; 12 authors, 5 seeds"."""
    _, *ends = _numbers(row)
    unit = words_of(row["measure"]).end_unit
    interval = f"95 % interval {ends[0]}{unit} to {ends[1]}{unit}" if ends else "no interval"
    units = [] if row.get("n") is None else [count_units(row["n"], row["unit"])]
    units += [pluralise(row["seeds"], "seed")] if row.get("seeds") else []
    return "; ".join(filter(None, [interval, ", ".join(units)]))


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """Return the difference and the ends of its interval in print, with signs."""
    known = [row["difference"], *([] if row["low"] is None else [row["low"], row["high"]])]
    small = 0 < abs(known[0]) < 0.0005
    decimals = 1 + small if words_of(row["measure"]).percent else fitting_decimals(known)
    # More decimals are printed until different ends of an interval look different, and none looks like zero.
    texts: list[str] = []
    while not texts or len(set(texts[1:])) < len(set(known[1:])) or _looks_like_zero(known[1:], texts[1:]):
        texts = [_with_sign(value, row["measure"], decimals) for value in known]
        decimals += 1
        if decimals > MAX_DECIMALS:
            break
    return texts


def _looks_like_zero(values: Sequence[float], texts: Sequence[str]) -> bool:
    """Return True if a value that is not zero has only zeros in print."""
    return any(value and not text.strip("+−0.") for value, text in zip(values, texts, strict=True))


def _with_sign(value: float, measure: str, decimals: int) -> str:
    return ("+" if value > 0 else "") + format_value(value, words_of(measure).difference_kind, decimals)


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
    return _fill(SENTENCES[claim.kind].details, _parts(claim))


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
