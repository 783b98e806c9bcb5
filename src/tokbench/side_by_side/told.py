"""What is told of two runs in words: the same sentences in a terminal and on a page."""

from collections.abc import Sequence

from tokbench.report.numbers import MINUS, fitting_decimals, printed, probability
from tokbench.report.wording import counted, few
from tokbench.side_by_side.cells import BEYOND, EXACT, SINGLE, UNTESTED, WITHIN, Change, Judgement
from tokbench.side_by_side.several import SAME, Changed, sign
from tokbench.side_by_side.two_runs import Both, Comparison
from tokbench.tidy.table import Kind

MEANINGS: dict[Judgement, str] = {
    BEYOND: "the interval of the difference leaves zero out, and p after Holm's correction is at most 0.05; where a "
    "table has intervals of the values alone, these lie apart",
    EXACT: "counts, which chance does not move as long as the text is the same",
    SINGLE: "one number of each run without an interval",
    UNTESTED: "one training, or two; another seed can change the numbers",
    WITHIN: "no more than chance may do",
}
HEADS = ("table", "cell", "number", "A", "B", f"B {MINUS} A", "interval", "n", "p, Holm")
CHECKSUM = 12
"""Characters of a checksum that are shown."""


def summary(found: Comparison, letters: str = "AB") -> list[str]:
    """The answer, a sentence a line; ``letters`` are what the two are called."""
    changed = {judgement: len(found.changes(judgement)) for judgement in MEANINGS}
    cells = found.same + sum(changed.values())
    if not cells:
        first = "The two have no cell in common."
    elif not sum(changed.values()):
        first = f"All {counted(cells, 'cell')} that both have are the same."
    else:
        told = [f"{number:,} changed beyond noise" for number in [changed[BEYOND]] if number]
        told += [f"{counted(number, 'count')} changed" for number in [changed[EXACT]] if number]
        told += [f"{counted(number, 'single number')} changed" for number in [changed[SINGLE]] if number]
        told += [f"{number:,} changed and not tested for too few trainings" for number in [changed[UNTESTED]] if number]
        told += [f"{number:,} changed within noise" for number in [changed[WITHIN]] if number]
        first = f"Of {counted(cells, 'cell')} that both have, {', '.join(told)}; {found.same:,} are the same."
    lines = [first]
    for letter, number, tables, values in (
        (letters[0], found.alone[0], found.tables_a, found.values_a),
        (letters[1], found.alone[1], found.tables_b, found.values_b),
    ):
        if number:
            lines.append(f"Only {letter} has {counted(number, 'row')} of the tables that both have.")
        if tables:
            lines.append(f"Only {letter} has the {'table' if len(tables) == 1 else 'tables'} {few(tables, 12)}.")
        lines += [f"Only {letter} has {what.replace('_', ' ')}: {few(names, 12)}." for what, names in values.items()]
    return lines


def sources(found: Comparison, letters: str = "AB") -> list[str]:
    """What made the two, where it is not the same, a line each."""
    lines = [f"{what}: {_both(pair, letters)}" for what, pair in found.versions.items()]
    if not found.a.versions and not found.b.versions:
        lines.append("Neither tells what made it.")
    lines += [f"corpus {what}: {_both(pair, letters, short=True)}" for what, pair in found.corpora.items()]
    one_sided = [what for what, pair in found.tokenizers.items() if not all(pair)]
    other = [what for what, pair in found.tokenizers.items() if all(pair)]
    if other:
        lines.append(f"{counted(len(other), 'tokenizer')} with another vocabulary or settings: {few(other, 12)}")
    if one_sided:
        lines.append(f"{counted(len(one_sided), 'tokenizer')} in one of the two alone: {few(one_sided, 12)}")
    return lines or ["Versions, corpora and tokenizers are the same."]


def _both(pair: Both, letters: str, *, short: bool = False) -> str:
    return ", ".join(
        f"{letter} {(one[:CHECKSUM] if short else one) or 'none'}" for letter, one in zip(letters, pair, strict=True)
    )


def row(change: Change) -> list[str]:
    """A change as cells of text, under :data:`HEADS`."""
    kind = change.column.kind
    decimals = _decimals(change)
    values = [printed(value, kind, decimals) for value in (change.a, change.b)]
    difference = _signed(change.difference, kind, decimals)
    if change.low is not None and change.high is not None:
        interval = f"{_signed(change.low, kind, decimals)} to {_signed(change.high, kind, decimals)}"
    elif change.interval_a and change.interval_b:
        interval = " and ".join(
            f"{printed(low, kind, decimals)} to {printed(high, kind, decimals)}"
            for low, high in (change.interval_a, change.interval_b)
        )
    else:
        interval = "–"
    cell = ", ".join(_named(name, value) for name, value in change.where.items())
    n = "–" if change.n is None else f"{change.n:,}"
    p_value = "–" if change.holm is None else probability(change.holm)
    return [change.table.name, cell, change.column.name, *values, difference, interval, n, p_value]


def beside(changed: Changed) -> list[str]:
    """A cell of several runs as text: table, cell, number, the first run's value and each other's with its sign."""
    first = changed.first
    decimals = max(_decimals(change) for change in changed.by_run if change is not None)
    values = [
        SAME if change is None else f"{printed(change.b, change.column.kind, decimals)} {sign(change)}".rstrip()
        for change in changed.by_run
    ]
    cell = ", ".join(_named(name, value) for name, value in first.where.items())
    return [first.table.name, cell, first.column.name, printed(first.a, first.column.kind, decimals), *values]


def _named(name: str, value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}" if name == "size" else f"{name.replace('_', ' ')} {value:,}"
    return str(value)


def _decimals(change: Change) -> int:
    if change.column.kind == "percent":
        return change.column.decimals or 2
    ends: Sequence[float | None] = (change.a, change.b, change.difference, change.low, change.high)
    shown = [abs(one) for one in ends if one]
    return max(fitting_decimals(shown), fitting_decimals([min(shown)])) if shown else 0


def _signed(value: float, kind: Kind, decimals: int) -> str:
    text = printed(value, "real" if kind == "mixed" else kind, decimals)
    return ("+" if value > 0 else "") + text
