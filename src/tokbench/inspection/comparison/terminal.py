"""Comparison of two tokenizers: lines, verdict, and text for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tokbench.report.wording import listed, pluralise
from tokbench.statistics.contrast import Contrast
from tokbench.statistics.verdicts import ALPHA
from tokbench.statistics.wilcoxon import holm

if TYPE_CHECKING:
    from tokbench.tabulation.table import Kind


Unequal = Mapping[tuple[int, int], tuple[int, int]]
"""Pairs of sizes at which two tokenizers have different numbers of tokens, with these numbers."""


@dataclass(frozen=True)
class Line:
    """One measure of two tokenizers.

    Attributes:
        name: label of the table row.
        contrast: the two values, their difference and its interval.
        better: direction of better values.
        what: name in the verdict; lines with equal ``what`` and ``under`` are reported together.
        definition: exact definition. Default: empty.
        restates: True if the measure follows from the token count; the verdict omits it. Default: False.
        holm: p after Holm's correction over the comparison, see :func:`corrected`. Default: None.
        sizes: pairs of sizes of a and b that the line covers.
        ranked: False if neither may be called better: one does not restore the text, or has fewer tokens than the
            other (see :func:`alike`). Default: True.
        under: qualifier that the verdict adds once after all names that share it. Default: empty.
        trainings: trainings per tokenizer; None if no model was trained. See
            :mod:`tokbench.statistics.verdicts`.
    """

    name: str
    contrast: Contrast
    better: Literal["highest", "lowest"]
    what: str
    definition: str = ""
    restates: bool = False
    holm: float | None = None
    sizes: Sequence[tuple[int, int]] = ()
    ranked: bool = True
    under: str = ""
    trainings: int | None = None

    @property
    def untested(self) -> str:
        """The reason why the difference is not tested for significance; empty if it is."""
        from tokbench.statistics.verdicts import why_untested

        return why_untested(self.trainings)

    @property
    def called(self) -> str:
        """The name with its qualifier."""
        return f"{self.what} {self.under}".rstrip()

    @property
    def winner(self) -> Literal["a", "b", ""]:
        """The significantly better one, by interval and corrected p; empty if there is none or it is untested."""
        if not self.ranked or self.untested or (self.holm is not None and self.holm > ALPHA):
            return ""
        side = self.contrast.side * (1 if self.better == "highest" else -1)
        return "a" if side > 0 else "b" if side < 0 else ""

    @property
    def ahead(self) -> Literal["a", "b", ""]:
        """The one with the better value; empty if they are equal or not ranked."""
        from tokbench.statistics.verdicts import may_rank

        if not self.ranked or not may_rank(self.trainings):
            return ""
        lead = self.contrast.difference * (1 if self.better == "highest" else -1)
        return "a" if lead > 0 else "b" if lead < 0 else ""


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


def corrected(parts: Sequence[LineGroup]) -> list[LineGroup]:
    """Adjust the p of all tested lines by Holm's procedure; remove the p of untested lines."""
    parts = [replace(part, lines=list(map(_without_p, part.lines))) for part in parts]
    tested = [line.contrast.p_value for part in parts for line in part.lines if line.contrast.p_value is not None]
    adjusted = iter(holm(tested).tolist())
    return [
        replace(
            part,
            lines=[
                line if line.contrast.p_value is None else replace(line, holm=next(adjusted)) for line in part.lines
            ],
        )
        for part in parts
    ]


def _without_p(line: Line) -> Line:
    return replace(line, contrast=replace(line.contrast, p_value=None)) if line.untested else line


def alike(parts: Sequence[LineGroup], unequal: Unequal) -> list[LineGroup]:
    """Mark lines as not ranked if one tokenizer has fewer tokens than the other at one of their sizes."""
    return [
        replace(
            part,
            lines=[
                replace(line, ranked=line.ranked and not any(pair in unequal for pair in line.sizes))
                for line in part.lines
            ],
        )
        for part in parts
    ]


def comparison_text(
    a: str,
    b: str,
    parts: Sequence[LineGroup],
    unequal: Unequal | None = None,
    pretokenizers: tuple[str, str] | None = None,
    notes: Sequence[str] = (),
    most: int | None = None,
) -> str:
    """Return the verdict, then every part as a table; each line ends with the name of the better tokenizer.

    Args:
        a, b: names of the tokenizers.
        parts: tables of measures.
        unequal: sizes at which one has fewer tokens than the other, with both numbers; size 0 means unknown.
        pretokenizers: those of a and b; named if they differ. Default: None.
        notes: lines after the verdict. Default: none.
        most: number of tables; the headings of the others are listed at the end. Default: all.
    """
    text = []
    if pretokenizers is not None and pretokenizers[0] != pretokenizers[1]:
        of_a, of_b = pretokenizers
        text.append(
            f"Their pre-tokenizers differ: {a} has {of_a}, {b} has {of_b}. Every difference includes their effect."
        )
    text += [
        (f"At {size:,} they" if size and size == other else "They")
        + f" differ in size: {a} has {tokens_a:,} tokens, {b} has {tokens_b:,}. "
        "Measures that depend on it are not ranked."
        for (size, other), (tokens_a, tokens_b) in (unequal or {}).items()
    ]
    text += [*_said(a, b, parts), *notes]
    for part in parts[:most]:
        text += ["", part.heading, *_table(part, a, b), *part.notes]
    if more := parts[len(parts[:most]) :]:
        text += ["", f"{pluralise(len(more), 'more table')} with --all:", *(f"  {part.heading}" for part in more)]
    return "\n".join(text) + "\n"


@dataclass(frozen=True)
class VerdictLine:
    """One measure in the verdict.

    Attributes:
        what: name of the measure.
        at: names of the lines concerned; empty for all.
        under: as in :class:`Line`.
    """

    what: str
    at: Sequence[str] = ()
    under: str = ""

    @property
    def behind(self) -> str:
        """Text after the name."""
        return " ".join(filter(None, (self.under, f"at {listed(self.at)}" if self.at else "")))


@dataclass(frozen=True)
class Verdict:
    """Summary of a comparison by side: ``a``, ``b``, or empty for neither.

    Attributes:
        sure: measures on which each is significantly better after correction, or neither is.
        single: measures without an interval on which each has the better value in every line.
        untested: untested measures by reason.
    """

    sure: Mapping[str, Sequence[VerdictLine]]
    single: Mapping[str, Sequence[str]]
    untested: Mapping[str, Sequence[VerdictLine]]


def verdict(parts: Sequence[LineGroup]) -> Verdict:
    """Summarise a comparison; measures that restate the token count are omitted."""
    sure: dict[str, list[VerdictLine]] = {"a": [], "b": [], "": []}
    ahead: dict[str, set[str]] = {}
    untested: dict[str, list[VerdictLine]] = {}
    for part in parts:
        for what, under in dict.fromkeys((line.what, line.under) for line in part.lines):
            every = [line for line in part.lines if (line.what, line.under) == (what, under) and line.ranked]
            for reason in dict.fromkeys(line.untested for line in every if line.untested):
                names = [line.name for line in every if line.untested == reason]
                told = VerdictLine(what, () if len(names) == len(every) else names, under)
                untested.setdefault(reason, []).append(told)
            same = [line for line in every if not line.untested]
            for side, things in sure.items():
                won = [line.name for line in same if line.contrast.low is not None and line.winner == side]
                things += [VerdictLine(what, () if len(won) == len(every) else won, under)] * bool(won)
            for line in same:
                if line.contrast.low is None and not line.restates:
                    ahead.setdefault(line.called, set()).add(line.ahead)
    single = {side: [what for what, sides in ahead.items() if sides == {side}] for side in sure}
    return Verdict(sure, single, untested)


def _said(a: str, b: str, parts: Sequence[LineGroup]) -> list[str]:
    """Return the verdict as sentences."""
    from tokbench.report.wording import MINUS
    from tokbench.statistics.verdicts import NO_DIFFERENCE, NOT_TESTED

    found = verdict(parts)
    sure = {side: _together(told) for side, told in found.sure.items()}
    lines = [f"{name} is significantly better at {sure[one]}." for one, name in (("a", a), ("b", b)) if sure[one]]
    lines += [f"{NO_DIFFERENCE.capitalize()}: {sure['']}."] * bool(sure[""])
    lines += [
        f"Not tested ({reason.removeprefix(NOT_TESTED).strip(' :')}): {_together(told)}."
        for reason, told in found.untested.items()
    ]
    lines += [
        f"Single values, without a test: {name} is better at {listed(found.single[one])}."
        for one, name in (("a", a), ("b", b))
        if found.single[one]
    ]
    tests = sum(line.holm is not None for part in parts for line in part.lines)
    rule = f" Significant: the interval excludes zero, and p ≤ {ALPHA} after Holm's correction for "
    rule += f"{pluralise(tests, 'test')}."
    how = "Student's t for tokens and bits, paired bootstrap over questions for answers"
    return [*lines, "", f"Differences are {a} {MINUS} {b}; intervals are 95 % ({how}).{rule * (tests > 0)}"]


def _together(things: Sequence[VerdictLine]) -> str:
    """Join names; a qualifier shared by several is written once."""
    groups: dict[str, list[str]] = {}
    for thing in things:
        groups.setdefault(thing.behind, []).append(thing.what)
    sentences = [f"{listed(several)} {behind}".rstrip() for behind, several in groups.items()]
    return "; ".join(sentences) if any(len(several) > 1 for several in groups.values()) else listed(sentences)


def _table(part: LineGroup, a: str, b: str) -> list[str]:
    from tokbench.report.wording import fitting_decimals, printed, probability
    from tokbench.statistics.verdicts import NOT_TESTED

    lines = part.lines
    names = {"a": a, "b": b, "": "–"}
    rows = [["", a, b, "difference", "interval", "n", "p, Holm", "better"]]
    bounds = [bound for line in lines for bound in (line.contrast.low, line.contrast.high) if bound is not None]
    for line in lines:
        contrast = line.contrast
        decimals = fitting_decimals([contrast.a, contrast.b]) if part.kind == "real" else 1
        signed = [
            None if value is None else _signed(value, part.differs, decimals)
            for value in (contrast.difference, contrast.low, contrast.high)
        ]
        interval = "–" if signed[1] is None else f"{signed[1]} to {signed[2]}"
        better = NOT_TESTED if line.untested else names[line.ahead if contrast.low is None else line.winner]
        values = [printed(value, part.kind, decimals) for value in (contrast.a, contrast.b)]
        rows.append([line.name, *values, signed[0] or "–", interval, f"{contrast.n:,}"])
        rows[-1] += ["–" if line.holm is None else probability(line.holm), better]
    if all(line.holm is None for line in lines):
        rows = [[*row[:6], row[7]] for row in rows]
    if not bounds:
        rows = [[*row[:4], row[-1]] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in
                         enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def _signed(value: float, kind: Literal["share", "percent", "real"], decimals: int) -> str:
    from tokbench.report.wording import printed

    text = printed(value, "real" if kind == "real" else "percent", decimals)
    return ("+" if value > 0 else "") + text + " %" * (kind == "share")
