"""Sentences on comparisons, the same in the terminal, in Python, on pages and in the report.

:data:`SENTENCES` has the text of each kind of sentence. Functions fill it with names and numbers in print: those below,
and those of :mod:`tokbench.report.claim_sentences`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.report.measure_words import words_of
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, fitting_decimals, format_value, pluralise
from tokbench.statistics.comparisons.families import BASELINE
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.verdicts import IN_WORDS, NOT_TESTED, in_full

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
    return fill(SENTENCES[kind].text, parts)


def statement(kind: str, **parts: object) -> Statement:
    """Return heading and text of a kind of claim, see :data:`SENTENCES`, with their parts filled in."""
    return Statement(fill(SENTENCES[kind].heading, parts), fill(SENTENCES[kind].text, parts))


def fill(template: str, parts: Mapping[str, object]) -> str:
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
