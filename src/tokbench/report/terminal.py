"""Two tokenizers side by side as text for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tokbench.report.numbers import MINUS, fitting_decimals, printed
from tokbench.report.wording import listed
from tokbench.statistics.contrast import Contrast

if TYPE_CHECKING:
    from tokbench.tidy.table import Kind


@dataclass(frozen=True)
class Line:
    """One thing that two tokenizers are compared by.

    Attributes:
        name: what stands at the left.
        contrast: the two values and their difference.
        better: which end is better.
        what: by what name the verdict calls it; lines that share one are told together.
    """

    name: str
    contrast: Contrast
    better: Literal["highest", "lowest"]
    what: str

    @property
    def winner(self) -> Literal["a", "b", ""]:
        """Which is better, beyond the interval; empty where the interval holds zero or there is none."""
        side = self.contrast.side * (1 if self.better == "highest" else -1)
        return "a" if side > 0 else "b" if side < 0 else ""

    @property
    def ahead(self) -> Literal["a", "b", ""]:
        """Which has the better value, whatever its interval."""
        lead = self.contrast.difference * (1 if self.better == "highest" else -1)
        return "a" if lead > 0 else "b" if lead < 0 else ""


@dataclass(frozen=True)
class Part:
    """Lines of one kind.

    Attributes:
        heading: what was measured, and what was drawn for the intervals.
        kind: how the two values are printed.
        differs: how their difference is: like them, or as a share in percent.
        lines: from top to bottom.
        notes: below them.
    """

    heading: str
    kind: "Kind"
    differs: Literal["share", "percent", "real"]
    lines: list[Line]
    notes: list[str] = field(default_factory=list)


def comparison_text(a: str, b: str, parts: Sequence[Part]) -> str:
    """The answer: a verdict, then every part as a table; each line ends with the name of the better one."""
    text = _verdict(a, b, parts)
    for part in parts:
        text += ["", part.heading, *_table(part, a, b), *part.notes]
    return "\n".join(text) + "\n"


def _verdict(a: str, b: str, parts: Sequence[Part]) -> list[str]:
    """What each is better at beyond its interval, what does not tell them apart, and what single numbers say."""
    sure: dict[str, list[str]] = {"a": [], "b": [], "": []}
    ahead: dict[str, set[str]] = {}
    for part in parts:
        for what in dict.fromkeys(line.what for line in part.lines):
            same = [line for line in part.lines if line.what == what]
            for side, told in sure.items():
                won = [line.name for line in same if line.contrast.low is not None and line.winner == side]
                told += [what if len(won) == len(same) else f"{what} at {listed(won)}"] * bool(won)
            for line in same:
                if line.contrast.low is None:
                    ahead.setdefault(what, set()).add(line.ahead)
    single = {side: [what for what, sides in ahead.items() if sides == {side}] for side in sure}
    lines = [f"{name} is better at {listed(sure[one])}." for one, name in (("a", a), ("b", b)) if sure[one]]
    lines += [f"They are not told apart by {listed(sure[''])}."] * bool(sure[""])
    lines += [
        f"By single numbers, without an interval, {name} is better at {listed(single[one])}."
        for one, name in (("a", a), ("b", b))
        if single[one]
    ]
    how = "of tokens and bits by Student's t over documents, of answers by the paired bootstrap over questions"
    return [*lines, "", f"Differences are {a} {MINUS} {b}; intervals are 95 %, {how}."]


def _table(part: Part, a: str, b: str) -> list[str]:
    lines = part.lines
    names = {"a": a, "b": b, "": "–"}
    rows = [["", a, b, "difference", "interval", "n", "better"]]
    bounds = [bound for line in lines for bound in (line.contrast.low, line.contrast.high) if bound is not None]
    for line in lines:
        contrast = line.contrast
        decimals = fitting_decimals([contrast.a, contrast.b]) if part.kind == "real" else 1
        signed = [
            None if value is None else _signed(value, part.differs, decimals)
            for value in (contrast.difference, contrast.low, contrast.high)
        ]
        interval = "–" if signed[1] is None else f"{signed[1]} to {signed[2]}"
        better = names[line.ahead if contrast.low is None else line.winner]
        values = [printed(value, part.kind, decimals) for value in (contrast.a, contrast.b)]
        rows.append([line.name, *values, signed[0] or "–", interval, f"{contrast.n:,}", better])
    if not bounds:
        rows = [[*row[:4], row[6]] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in
                         enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def _signed(value: float, kind: Literal["share", "percent", "real"], decimals: int) -> str:
    text = printed(value, "real" if kind == "real" else "percent", decimals)
    return ("+" if value > 0 else "") + text + " %" * (kind == "share")
