"""The sentence on a comparison of two tokenizers, the same in the terminal, in Python, on pages and in the report."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokbench.report.wording import fitting_decimals, pluralise, printed
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BASELINE, BITS, GAP, NGRAM, TOKENS
from tokbench.statistics.significance.verdicts import IN_WORDS, NOT_TESTED, in_full

if TYPE_CHECKING:
    from tokbench.tabulation.table import Kind

VERBS = {
    TOKENS: ("needs {} fewer tokens than", "needs {} more tokens than"),
    GAP: ("is {} nearer to the optimum than", "is {} further from the optimum than"),
    NGRAM: ("needs {} fewer bits per byte than", "needs {} more bits per byte than"),
    BITS: ("needs {} fewer bits per byte than", "needs {} more bits per byte than"),
    ACCURACY: ("has an accuracy that is {} lower than that of", "has an accuracy that is {} higher than that of"),
    ALIGNMENT: ("has an F1 that is {} lower than that of", "has an F1 that is {} higher than that of"),
}
"""Verb of a difference below zero, and of one above, by measure."""
OTHER = ("has a value that is {} lower than that of", "has a value that is {} higher than that of")
EQUAL = {
    TOKENS: "needs the same number of tokens as",
    NGRAM: "needs as many bits per byte as",
    BITS: "needs as many bits per byte as",
}
SELECTED = (
    "The best is selected by the numbers that it is tested on, so its p-values, corrected or not, are too small rather "
    "than too large."
)
"""Note on tests of the best."""
DIFFERENCE = ("difference", "difference_low", "difference_high")
"""Columns of the scoreboard: difference from the baseline, and its interval."""
_PERCENT = (TOKENS, GAP, ACCURACY)
MOST_DECIMALS = 6
"""Largest number of decimals; two ends of an interval print differently if that many suffice."""


def comparison_sentence(row: Mapping[str, Any]) -> str:
    """Return a comparison as a sentence: difference, interval, units and seeds, and verdict.

    Args:
        row: columns of :data:`tokbench.statistics.comparisons.paired_comparisons.PAIRED_COMPARISONS`. Pre-tokenizers
            are named if they differ.

    Examples:
        unigram needs 3.2 % more tokens than bpe (95 % interval +2.9 % to +3.5 %; 251 documents): significantly worse.
    """
    differ = row.get("pretokenization_a") != row.get("pretokenization_b")
    a, b = (
        f"{row[side]} (pre-tokenizer {row.get(f'pretokenization_{side}') or 'not known'})" if differ else row[side]
        for side in ("a", "b")
    )
    return f"{a} {verb(row)} {b}{of_model(row)} ({evidence(row)}): {verdict_in_words(row)}."


def baseline_sentence(row: Mapping[str, Any]) -> str:
    """Return the sentence on a tokenizer against the baseline; empty for the baseline itself.

    Args:
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
    return comparison_sentence({**pair, **sides, **numbers, "seeds": row["seeds"]})


def difference_texts(measure: str, row: Mapping[str, Any], column: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return a difference from the baseline with its unit, and its interval (empty if none), in print.

    Args:
        measure: measure of the difference.
        row: row of the scoreboard.
        column: rows of the same column, which determine the decimals.
    """
    kind: Kind = "percent" if measure in _PERCENT else "real"
    parts = [abs(value) for one in column for name in DIFFERENCE if (value := one[name])]
    decimals = fitting_decimals(parts or [0.0]) if kind == "real" else 1 + (min(parts, default=1) < 0.0005)
    difference, *ends = (
        ("+" if value > 0 else "") + printed(value, kind, decimals)
        for name in DIFFERENCE
        if (value := row[name]) is not None
    )
    unit = " %" if measure == TOKENS else " points" if kind == "percent" else ""
    return difference + unit, " to ".join(ends)


def of_model(row: Mapping[str, Any]) -> str:
    """Return the language model of a measure, such as " with the language model tiny"; empty for other measures."""
    if row["measure"] == NGRAM:
        return " with token n-gram models"
    if not row.get("model"):
        return ""
    return f" with the language model {row['model']}" + f" on {row['suite']}" * (row["measure"] != BITS)


def verb(row: Mapping[str, Any]) -> str:
    """Return the verb of a comparison with its number, such as "needs 3.2 % more tokens than"."""
    measure, difference = row["measure"], row["difference"]
    if not difference:
        return EQUAL.get(measure, "has the same value as")
    below, above = VERBS.get(measure, OTHER)
    return (below if difference < 0 else above).format(_numbers(row)[0].lstrip("+−") + _unit(measure, "far"))


def evidence(row: Mapping[str, Any]) -> str:
    """Return interval, units and seeds, such as "95 % interval −0.034 to −0.021; 12 authors, 5 seeds"."""
    _, *ends = _numbers(row)
    unit = _unit(row["measure"], "end")
    interval = f"95 % interval {ends[0]}{unit} to {ends[1]}{unit}" if ends else "no interval"
    drawn = []
    if row.get("n") is not None:
        drawn.append(counted(row["n"], row["unit"]))
    if row.get("seeds"):
        drawn.append(pluralise(row["seeds"], "seed"))
    return "; ".join(filter(None, [interval, ", ".join(drawn)]))


def counted(number: int, units: str) -> str:
    """Return a number of units: ``1 document``, ``12 authors``, ``3 clusters of questions``."""
    first, *rest = units.split(" ")
    name = " ".join([first.removesuffix("s"), *rest]) if number == 1 else units
    return f"{number:,} {name}"


def verdict_in_words(row: Mapping[str, Any]) -> str:
    """Return the verdict on a, with the reason if it is not tested."""
    verdict = row["verdict"]
    return in_full(row.get("reason")) if verdict == NOT_TESTED else IN_WORDS.get(verdict, verdict)


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """Return the difference and the ends of its interval in print, with signs."""
    known = [row["difference"], *([] if row["low"] is None else [row["low"], row["high"]])]
    percent = row["measure"] in _PERCENT
    kind: Kind = "percent" if percent else "real"
    decimals = (1 + (0 < abs(known[0]) < 0.0005)) if percent else fitting_decimals(known)
    texts: list[str] = []
    while len(set(texts[1:])) < len(set(known[1:])) or not texts:
        texts = [("+" if value > 0 else "") + printed(value, kind, decimals) for value in known]
        decimals += 1
        if decimals > MOST_DECIMALS:
            break
    return texts


def _unit(measure: str, where: str) -> str:
    if measure == ACCURACY:
        return " points" if where == "far" else ""
    return " %" if measure in _PERCENT else ""
