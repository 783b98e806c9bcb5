"""Comparison of two tokenizers: lines, sentences, and text for a terminal.

The first tokenizer is the baseline: sentences and differences are of the second against the first, as in Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tokbench.report.sentences import comparison_sentence, count_units
from tokbench.report.wording import MINUS, fitting_decimals, format_value, join_all, pluralise, probability
from tokbench.statistics.significance.eligibility import may_rank
from tokbench.statistics.significance.verdicts import ALPHA, BETTER, NOT_TESTED, WORSE

if TYPE_CHECKING:
    from tokbench.metric import Direction
    from tokbench.tabulation.table import Kind


Unequal = Mapping[tuple[int, int], tuple[int, int]]
"""Pairs of sizes at which two tokenizers have different numbers of tokens, with these numbers."""
SINGLE = "not tested: one number of each, without an interval"


@dataclass(frozen=True)
class Line:
    """One measure of two tokenizers.

    Attributes:
        name: label of the table row.
        row: the comparison of the second tokenizer with the first, columns of
            :data:`tokbench.statistics.comparisons.paired_comparisons.PAIRED_COMPARISONS`.
        better: direction of better values.
        what: name of the measure.
        restates: True if the measure follows from the token count; the summary omits it. Default: False.
        main: True if the text begins with a sentence on it. Default: False.
    """

    name: str
    row: Mapping[str, Any]
    better: "Direction"
    what: str
    restates: bool = False
    main: bool = False

    @property
    def single(self) -> bool:
        """True for a single number of each tokenizer, which has no interval."""
        return self.row["reason"] == SINGLE

    @property
    def winner(self) -> Literal["a", "b", ""]:
        """The significantly better one; empty if there is none or the difference is not tested."""
        return {BETTER: "b", WORSE: "a"}.get(self.row["verdict"], "")  # type: ignore[return-value]

    @property
    def leader(self) -> Literal["a", "b", ""]:
        """The one with the better value; empty if they are equal or not ranked."""
        not_ranked = self.row["verdict"] == NOT_TESTED and not (self.single or self.row["low"] is not None)
        if not_ranked or not may_rank(self.row.get("seeds")):
            return ""
        lead = self.row["difference"] * (1 if self.better == "highest" else -1)
        return "b" if lead > 0 else "a" if lead < 0 else ""


def single_number(a: str, b: str, value_a: float, value_b: float, definition: str) -> dict[str, Any]:
    """Return the row of a measure that has one number for each tokenizer, b compared with a."""
    values = {"value_a": value_b, "value_b": value_a, "difference": value_b - value_a, "definition": definition}
    none = dict.fromkeys(("low", "high", "unit", "n", "seeds", "p_value", "holm"))
    return {"measure": "", "a": b, "b": a, **values, **none, "verdict": NOT_TESTED, "reason": SINGLE}


@dataclass(frozen=True)
class LineGroup:
    """A table of lines of one kind.

    Attributes:
        heading: the measure, and the unit of its intervals.
        kind: number format of the two values.
        differs: number format of the difference: like the values, or as a share in percent.
        lines: lines from top to bottom.
        notes: notes below the table. Default: none.
    """

    heading: str
    kind: "Kind"
    differs: Literal["share", "percent", "real"]
    lines: list[Line]
    notes: list[str] = field(default_factory=list)


def comparison_text(
    a: str,
    b: str,
    parts: Sequence[LineGroup],
    unequal: Unequal | None = None,
    notes: Sequence[str] = (),
    most: int | None = None,
) -> str:
    """Return the sentences, then every part as a table; each line ends with its verdict.

    Args:
        a, b: names of the tokenizers.
        parts: tables of measures.
        unequal: sizes at which one has fewer tokens than the other, with both numbers; size 0 means unknown.
        notes: lines after the sentences. Default: none.
        most: number of tables; the headings of the others are listed at the end. Default: all.
    """
    text = [
        (f"At {size:,} they" if size and size == other else "They")
        + f" differ in size: {a} has {tokens_a:,} tokens, {b} has {tokens_b:,}."
        for (size, other), (tokens_a, tokens_b) in (unequal or {}).items()
    ]
    text += [*sentences(parts), *_single(a, b, parts), "", _rule(a, b, parts), *notes]
    for part in parts[:most]:
        text += ["", part.heading, *_table(part, a, b), *part.notes]
    if more := parts[len(parts[:most]) :]:
        text += ["", f"{pluralise(len(more), 'more table')} with --all:", *(f"  {part.heading}" for part in more)]
    return "\n".join(text) + "\n"


def sentences(parts: Sequence[LineGroup]) -> list[str]:
    """Return a sentence on each main measure, with the size if there are several."""
    main = [line for part in parts for line in part.lines if line.main]
    several = len({line.name for line in main}) > 1
    return [f"At {line.name}: " * several + comparison_sentence(line.row) for line in main]


def single_leads(parts: Sequence[LineGroup]) -> dict[str, list[str]]:
    """Return the single numbers at which each of ``a`` and ``b`` is better in every line."""
    ahead: dict[str, set[str]] = {}
    for line in (line for part in parts for line in part.lines if line.single and not line.restates):
        ahead.setdefault(line.what, set()).add(line.leader)
    return {side: [what for what, sides in ahead.items() if sides == {side}] for side in ("a", "b")}


def _single(a: str, b: str, parts: Sequence[LineGroup]) -> Iterator[str]:
    for side, things in single_leads(parts).items():
        if things:
            yield f"Single values, without a test: {a if side == 'a' else b} is better at {join_all(things)}."


def _rule(a: str, b: str, parts: Sequence[LineGroup]) -> str:
    tested = any(line.row["holm"] is not None for part in parts for line in part.lines)
    rule = f" Significant: p ≤ {ALPHA} after Holm's correction for all pairs of the measure." * tested
    return f"Differences are {b} {MINUS} {a}; intervals are 95 %.{rule}"


def _table(part: LineGroup, a: str, b: str) -> list[str]:
    lines = part.lines
    names = {"a": f"{a} better", "b": f"{b} better"}
    rows = [["", a, b, "difference", "interval", "over", "p, Holm", "verdict"]]
    for line in lines:
        row = line.row
        known = [value for value in (row["value_b"], row["value_a"]) if value is not None]
        decimals = fitting_decimals(known or [row["difference"]]) if part.kind == "real" else 1
        signed = [
            None if value is None else _signed(value, part.differs, decimals)
            for value in (row["difference"], row["low"], row["high"])
        ]
        interval = "–" if signed[1] is None else f"{signed[1]} to {signed[2]}"
        verdict = names.get(line.winner) or (names.get(line.leader, "–") if line.single else row["verdict"])
        values = [
            "–" if value is None else format_value(value, part.kind, decimals)
            for value in (row["value_b"], row["value_a"])
        ]
        over = "–" if row["n"] is None else count_units(row["n"], row["unit"])
        over += f", {pluralise(row['seeds'], 'seed')}" if row["seeds"] else ""
        rows.append([line.name, *values, signed[0] or "–", interval, over])
        rows[-1] += ["–" if row["holm"] is None else probability(row["holm"]), verdict]
    if all(line.row["holm"] is None for line in lines):
        rows = [[*row[:6], row[7]] for row in rows]
    if all(line.row["low"] is None for line in lines):
        rows = [[*row[:4], row[-1]] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in
                         enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def _signed(value: float, kind: Literal["share", "percent", "real"], decimals: int) -> str:
    text = format_value(value, "real" if kind == "real" else "percent", decimals)
    return ("+" if value > 0 else "") + text + " %" * (kind == "share")
