"""Power-law fits of time, memory and disk, and extrapolation to larger corpora.

What a process takes at its start is taken off first; what is beyond it is fitted as a power of a quantity, a straight
line of logarithms by least squares.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scipy.special import stdtrit

from benchmarks.scale.plan import of_rule
from benchmarks.scale.run import START

LEAST = 0.1
"""What grows by less than this share of its start does not grow."""
CLEAR = 0.25
"""Points that lie less than this share of the start above it are left out: what starts take differs by some of it."""


@dataclass(frozen=True)
class Fit:
    """A start, and a power of a quantity beyond it.

    Attributes:
        start: what is taken of next to nothing.
        quantity, beyond: the largest quantity measured, and what was taken of it beyond the start.
        exponent: of the power; zero where nothing grows.
        low, high: its 95 % interval; NaN where two points or fewer were fitted.
        spread: sum of squares of the logarithms of the quantities about their mean.
        left, free: sum of squares that the line leaves, and its degrees of freedom.
    """

    start: float
    quantity: float
    beyond: float
    exponent: float
    low: float
    high: float
    spread: float = 0.0
    left: float = 0.0
    free: int = 0

    def at(self, quantity: float, exponent: float | None = None) -> float:
        """What a quantity takes, by the exponent or by another one; the line goes through the largest measured."""
        power = self.exponent if exponent is None else exponent
        return self.start + self.beyond * (quantity / self.quantity) ** power

    def within(self, left: float, free: int) -> "Fit":
        """The same with the interval of a line that leaves so much; the same where there is none."""
        if not free or not self.spread:
            return self
        wide = student(free) * math.sqrt(left / free / self.spread)
        return replace(self, low=self.exponent - wide, high=self.exponent + wide)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """The least and the most that quantities between two take, by the ends of the exponent's interval."""
        ends = [end for end in (self.low, self.high) if not math.isnan(end)] or [self.exponent]
        found = [self.at(quantity, end) for quantity in (low, high) for end in ends]
        return min(found), max(found)


def fit(quantities: Sequence[float], values: Sequence[float], start: float = 0.0, *, every: bool = False) -> Fit:
    """Fit values of ascending quantities.

    Points too near the start are left out, and so are those that took more than a larger quantity, of which some part
    of the work was not done. Where one alone is left, growth is taken to be proportional.

    Args:
        quantities: all above zero.
        values: what was taken of each.
        start: what is taken of next to nothing, and no part of the power.
        every: leave no point out.

    Raises:
        ValueError: there is nothing to fit.
    """
    if not quantities:
        raise ValueError("no points to fit")
    beyond = [max(0.0, value - start) for value in values]
    largest, most = quantities[-1], max(beyond)
    if most <= LEAST * start or (len(beyond) > 1 and most - min(beyond) <= LEAST * most):
        return Fit(start, largest, beyond[-1], 0.0, 0.0, 0.0)
    least = [0.0 if every else min(beyond[place:]) for place in range(len(beyond))]
    kept = zip(quantities, beyond, least, strict=True)
    points = [(math.log(x), math.log(y)) for x, y, below in kept if y > CLEAR * start and (every or y <= below)]
    if len({x for x, _ in points}) < 2:
        return Fit(start, largest, beyond[-1], 1.0, math.nan, math.nan)
    exponent, spread, left = _line(points)
    free = len(points) - 2
    found = Fit(start, largest, beyond[-1], exponent, math.nan, math.nan, spread, left if free else 0.0, free)
    return found.within(found.left, free)


def pooled(fits: Sequence[Fit]) -> list[Fit]:
    """Fits with the intervals that follow from what all lines together leave, with one common variance."""
    left, free = math.fsum(one.left for one in fits), sum(one.free for one in fits)
    return [one.within(left, free) for one in fits]


def student(free: int) -> float:
    """The 97.5 % quantile of Student's t."""
    return float(stdtrit(free, 0.975))


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Slope of the straight line of least squares; sums of squares of x about its mean, and of what is left."""
    number = len(points)
    x_mean = math.fsum(x for x, _ in points) / number
    y_mean = math.fsum(y for _, y in points) / number
    spread = math.fsum((x - x_mean) ** 2 for x, _ in points)
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    return slope, spread, math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)


AT_ONCE = 16
"""Shards that one job merges."""
SHARD, MERGED, WHOLE, PRETOKENS = "a shard", "16 shards", "text", "pre-tokens"
"""What drives a stage's work: the text of one of its jobs, or the different pre-tokens."""


@dataclass(frozen=True)
class Stage:
    """A stage of the experiment.

    Attributes:
        name: as in the table of processes.
        driver: what its jobs' work grows with, and its memory where ``held`` is empty.
        level: stages of one level run side by side, after those of the level before.
        times: jobs on all of the text; 0 where the plan has the number.
        kept: whether its output stays.
        bounded: whether it keeps to its memory, by spilling.
        held: what its jobs' memory grows with.
    """

    name: str
    driver: str
    level: int
    times: int = 1
    kept: bool = True
    bounded: bool = False
    held: str = ""

    @property
    def rule(self) -> str:
        return self.name.partition(" ")[0]


STAGES = (
    Stage("prepare", WHOLE, 0, bounded=True),
    Stage("count", SHARD, 1, 0, kept=False, bounded=True),
    Stage("train_byte_lm", WHOLE, 1, bounded=True),
    Stage("merge_part", MERGED, 2, 0, kept=False, bounded=True),
    Stage("score_bytes", SHARD, 2, 0, held=WHOLE),
    Stage("merge_counts", PRETOKENS, 3, 2, bounded=True),
    Stage("build_initial ngram", PRETOKENS, 4),
    Stage("build bpe", PRETOKENS, 5),
    Stage("build wordpiece", PRETOKENS, 5),
    Stage("build unigram", PRETOKENS, 5),
    Stage("build pathpiece", PRETOKENS, 5),
    Stage("build greedtok", PRETOKENS, 5),
    Stage("build picky_bpe", PRETOKENS, 5),
    Stage("build sage", WHOLE, 5),
    Stage("build bytespan", WHOLE, 5),
    Stage("measure", PRETOKENS, 6, 0),
    Stage("encode_shard", SHARD, 6, 0, kept=False, bounded=True),
    Stage("gather_tokens", WHOLE, 7, kept=False),
    Stage("pack_slice", MERGED, 8, 0, kept=False, bounded=True),
    Stage("pack", WHOLE, 9, kept=False, bounded=True),
)
"""Two splits are merged, and every variant is measured."""


@dataclass(frozen=True)
class Taken:
    """What a stage took of one size.

    Attributes:
        gigabytes: the size.
        quantity: what drives a job of it: bytes of text, or different pre-tokens.
        held: what its memory grows with, likewise.
        jobs: processes.
        processor: seconds of all; job: of the longest.
        peak_mb: of the largest process; bound_mb: its bound; share: the most of its bound that a process took.
        disk: bytes that it left.
        error: why there is nothing.
    """

    gigabytes: float
    quantity: float
    held: float
    jobs: int
    processor: float
    job: float
    peak_mb: float
    bound_mb: int
    share: float
    disk: float
    error: str


Rows = Sequence[dict[str, str]]


def read(path: Path) -> list[dict[str, str]]:
    """The table of processes."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def sizes(rows: Rows) -> list[float]:
    """Sizes that were measured, ascending, without that of the starts."""
    return sorted({float(row["gigabytes"]) for row in rows} - {START})


def pretokens(rows: Rows, gigabytes: float) -> tuple[float, float]:
    """Bytes of a text, and how many different pre-tokens it has."""
    own = [row for row in rows if float(row["gigabytes"]) == gigabytes]
    return float(own[0]["text_bytes"]), max(float(row["pretokens"]) for row in own)


def taken(rows: Rows, stage: Stage, gigabytes: float) -> Taken | None:
    """What a stage took of a size; None where it was not asked for."""
    same = [row for row in rows if float(row["gigabytes"]) == gigabytes]
    own = [row for row in same if row["stage"] == stage.name]
    if not own:
        return None
    text, different = pretokens(rows, gigabytes)
    shards = sum(row["stage"] == "count" for row in same)
    shares = {SHARD: text / shards, MERGED: text * min(1.0, AT_ONCE / shards), WHOLE: text, PRETOKENS: different}
    seconds = [float(row["processor"]) for row in own]
    largest = max(own, key=lambda row: float(row["peak_mb"]))
    return Taken(
        gigabytes=gigabytes,
        quantity=shares[stage.driver],
        held=shares[stage.held or stage.driver],
        jobs=len(own),
        processor=sum(seconds),
        job=sum(seconds) / len(own) if stage.driver == SHARD else max(seconds),
        peak_mb=float(largest["peak_mb"]),
        bound_mb=int(largest["bound_mb"]),
        share=max(float(row["peak_mb"]) / float(row["bound_mb"]) for row in own),
        disk=sum(float(row["disk_bytes"]) for row in own),
        error=next((row["error"] for row in own if row["error"]), ""),
    )


@dataclass(frozen=True)
class Growth:
    """How a stage grows: seconds and memory of a job, with what drives it; its disk, with the bytes of its text."""

    seconds: Fit
    memory: Fit
    disk: Fit


def growths(rows: Rows) -> dict[str, Growth]:
    """Fit what was measured of each stage, with intervals by the pooled scatter of all."""
    found = {stage.name: grown for stage in STAGES if (grown := growth(rows, stage))}
    seconds = pooled([one.seconds for one in found.values()])
    memory = pooled([one.memory for one in found.values()])
    disk = pooled([one.disk for one in found.values()])
    return dict(zip(found, map(Growth, seconds, memory, disk), strict=True))


def growth(rows: Rows, stage: Stage) -> Growth | None:
    """Fit what was measured of a stage; None where nothing was."""
    found = [one for size in sizes(rows) if (one := taken(rows, stage, size)) and not one.error]
    if not found:
        return None
    start = taken(rows, stage, START)
    quantities = [one.quantity for one in found]
    text = [pretokens(rows, one.gigabytes)[0] for one in found]
    return Growth(
        fit(quantities, [one.job for one in found], start.job if start else 0.0),
        fit([one.held for one in found], [one.peak_mb for one in found], start.peak_mb if start else 0.0),
        fit(text, [one.disk for one in found], every=True),
    )


def vocabulary(rows: Rows) -> Fit:
    """How different pre-tokens grow with text (Heaps' law)."""
    points = [pretokens(rows, size) for size in sizes(rows)]
    return fit([text for text, _ in points], [different for _, different in points])


@dataclass(frozen=True)
class Expected:
    """What a stage is expected to take of a corpus that was not measured.

    Attributes:
        jobs: of full size.
        hours: of one core, all jobs; low and high by the intervals.
        longest: hours of one job.
        memory_mb: of one job; its bound where it keeps to that.
        disk: bytes that it writes.
        beyond: how many times the largest quantity measured a job's is.
    """

    stage: Stage
    jobs: int
    hours: float
    low: float
    high: float
    longest: float
    memory_mb: float
    disk: float
    beyond: float


def expected(stage: Stage, grown: Growth, heaps: Fit, text: float, shards: int, plan: dict[str, int]) -> Expected:
    """Extrapolate a stage to a corpus of ``text`` bytes in ``shards`` shards, with the numbers of jobs in ``plan``."""
    shard = text / shards
    shares = {SHARD: shard, MERGED: AT_ONCE * shard, WHOLE: text, PRETOKENS: heaps.at(text)}
    quantity = shares[stage.driver]
    ends = heaps.between(text, text) if stage.driver == PRETOKENS else (quantity, quantity)
    jobs = stage.times or plan[stage.rule]
    low, high = (jobs * end / 3600 for end in grown.seconds.between(*ends))
    job = grown.seconds.at(quantity) / 3600
    memory = grown.memory.at(shares[stage.held or stage.driver])
    return Expected(
        stage,
        jobs,
        jobs * job,
        low,
        high,
        job,
        min(memory, of_rule(stage.rule)) if stage.bounded else memory,
        grown.disk.at(text),
        quantity / grown.seconds.quantity,
    )


def makespan(stages: Sequence[Expected], at_once: int) -> float:
    """Hours of all levels one after another, so many jobs at a time."""
    return math.fsum(
        max(
            max(one.longest for one in stages if one.stage.level == level),
            math.fsum(one.hours for one in stages if one.stage.level == level) / at_once,
        )
        for level in {one.stage.level for one in stages}
    )
