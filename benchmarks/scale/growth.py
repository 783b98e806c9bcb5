"""Power-law fits of time, memory and disk, and extrapolation to larger corpora.

The start-up cost of a process is subtracted first. The rest is fitted as a power of a quantity, by least squares on
logarithms.
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
"""Minimum growth, as a share of the start-up cost, to count as growth."""
CLEAR = 0.25
"""Points less than this share above the start-up cost are excluded, because of the variation of that cost."""


@dataclass(frozen=True)
class Fit:
    """A start-up cost plus a power of a quantity.

    Attributes:
        start: cost of a minimal input.
        quantity, beyond: largest measured quantity, and its cost beyond the start.
        exponent: exponent of the power; zero without growth.
        low, high: 95 % interval of the exponent; NaN if at most two points were fitted.
        spread: sum of squared deviations of the logarithms of the quantities.
        left, free: residual sum of squares, and its degrees of freedom.
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
        """Return the cost of a quantity, by the exponent or another one, through the largest measured point."""
        power = self.exponent if exponent is None else exponent
        return self.start + self.beyond * (quantity / self.quantity) ** power

    def within(self, left: float, free: int) -> "Fit":
        """Return the fit with an interval from this residual variance, if it has one."""
        if not free or not self.spread:
            return self
        wide = student(free) * math.sqrt(left / free / self.spread)
        return replace(self, low=self.exponent - wide, high=self.exponent + wide)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """Return the lowest and highest cost of quantities in a range, by the ends of the exponent's interval."""
        ends = [end for end in (self.low, self.high) if not math.isnan(end)] or [self.exponent]
        costs = [self.at(quantity, end) for quantity in (low, high) for end in ends]
        return min(costs), max(costs)


def fit(quantities: Sequence[float], values: Sequence[float], start: float = 0.0, *, every: bool = False) -> Fit:
    """Fit values of ascending quantities.

    Excludes points too near the start-up cost, and points with a higher cost than a larger quantity (for which part of
    the work was skipped). With a single remaining point, growth is assumed to be proportional.

    Args:
        quantities: positive, ascending.
        values: cost of each quantity.
        start: cost of a minimal input, which is not part of the power. Default: 0.
        every: include all points. Default: False.

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
    candidates = zip(quantities, beyond, least, strict=True)
    points = [(math.log(x), math.log(y)) for x, y, below in candidates if y > CLEAR * start and (every or y <= below)]
    if len({x for x, _ in points}) < 2:
        return Fit(start, largest, beyond[-1], 1.0, math.nan, math.nan)
    exponent, spread, left = _line(points)
    free = len(points) - 2
    result = Fit(start, largest, beyond[-1], exponent, math.nan, math.nan, spread, left if free else 0.0, free)
    return result.within(result.left, free)


def pooled(fits: Sequence[Fit]) -> list[Fit]:
    """Return the fits with intervals from the pooled residual variance of all."""
    left, free = math.fsum(curve.left for curve in fits), sum(curve.free for curve in fits)
    return [curve.within(left, free) for curve in fits]


def student(free: int) -> float:
    """Return the 97.5 % quantile of Student's t."""
    return float(stdtrit(free, 0.975))


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the least-squares slope, the sum of squared deviations of x, and the residual sum of squares."""
    number = len(points)
    x_mean = math.fsum(x for x, _ in points) / number
    y_mean = math.fsum(y for _, y in points) / number
    spread = math.fsum((x - x_mean) ** 2 for x, _ in points)
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    return slope, spread, math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)


AT_ONCE = 16
"""Number of shards merged by one job."""
SHARD, MERGED, WHOLE, PRETOKENS = "a shard", "16 shards", "text", "pre-tokens"
"""Quantities that drive the work of a stage: the text of one of its jobs, or the unique pre-tokens."""


@dataclass(frozen=True)
class Stage:
    """A stage of the experiment.

    Attributes:
        name: as in the table of processes.
        driver: quantity that drives the work of its jobs, and their memory if ``held`` is empty.
        level: stages of one level run in parallel, after the previous level.
        times: jobs on the complete text; 0 if the plan has the number.
        kept: True if its output is kept.
        bounded: True if it spills to disk to stay within its memory.
        held: quantity that drives the memory of its jobs.
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
"""Stages of the experiment. Two splits are merged, and every variant is measured."""


@dataclass(frozen=True)
class Taken:
    """Measured costs of a stage at one size.

    Attributes:
        gigabytes: size of the text in GB.
        quantity: value of the driver for a job: bytes of text, or unique pre-tokens.
        held: value of the driver of memory.
        jobs: number of processes.
        processor: processor seconds of all; job: of the longest.
        peak_mb: of the largest process; bound_mb: its bound; share: highest share of a bound that a process used.
        disk: bytes of its output.
        error: reason for missing numbers.
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
    """Read the table of processes."""
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def sizes(rows: Rows) -> list[float]:
    """Return the measured sizes in ascending order, without the size for start-up costs."""
    return sorted({float(row["gigabytes"]) for row in rows} - {START})


def pretokens(rows: Rows, gigabytes: float) -> tuple[float, float]:
    """Return the bytes of a text, and its number of unique pre-tokens."""
    own = [row for row in rows if float(row["gigabytes"]) == gigabytes]
    return float(own[0]["text_bytes"]), max(float(row["pretokens"]) for row in own)


def taken(rows: Rows, stage: Stage, gigabytes: float) -> Taken | None:
    """Return the costs of a stage at a size; None if it was not requested."""
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
    """Growth of a stage: time and memory of a job by its drivers, disk by bytes of text."""

    seconds: Fit
    memory: Fit
    disk: Fit


def growths(rows: Rows) -> dict[str, Growth]:
    """Fit the measurements of each stage, with intervals from the pooled residual variance."""
    growth_by_stage = {stage.name: grown for stage in STAGES if (grown := growth(rows, stage))}
    seconds = pooled([curve.seconds for curve in growth_by_stage.values()])
    memory = pooled([curve.memory for curve in growth_by_stage.values()])
    disk = pooled([curve.disk for curve in growth_by_stage.values()])
    return dict(zip(growth_by_stage, map(Growth, seconds, memory, disk), strict=True))


def growth(rows: Rows, stage: Stage) -> Growth | None:
    """Fit the measurements of a stage; None if there are none."""
    measures = [measure for size in sizes(rows) if (measure := taken(rows, stage, size)) and not measure.error]
    if not measures:
        return None
    start = taken(rows, stage, START)
    quantities = [measure.quantity for measure in measures]
    text = [pretokens(rows, measure.gigabytes)[0] for measure in measures]
    return Growth(
        fit(quantities, [measure.job for measure in measures], start.job if start else 0.0),
        fit(
            [measure.held for measure in measures],
            [measure.peak_mb for measure in measures],
            start.peak_mb if start else 0.0,
        ),
        fit(text, [measure.disk for measure in measures], every=True),
    )


def vocabulary(rows: Rows) -> Fit:
    """Fit the growth of unique pre-tokens with text (Heaps' law)."""
    points = [pretokens(rows, size) for size in sizes(rows)]
    return fit([text for text, _ in points], [different for _, different in points])


@dataclass(frozen=True)
class Expected:
    """Extrapolated costs of a stage on a corpus.

    Attributes:
        jobs: number of jobs of full size.
        hours: core hours of all jobs; low and high from the intervals.
        longest: hours of one job.
        memory_mb: memory of one job, or its bound if it spills to disk.
        disk: bytes of its output.
        beyond: quantity of a job, as a multiple of the largest measured one.
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
    """Return the hours of all levels in sequence, with ``at_once`` jobs in parallel."""
    return math.fsum(
        max(
            max(forecast.longest for forecast in stages if forecast.stage.level == level),
            math.fsum(forecast.hours for forecast in stages if forecast.stage.level == level) / at_once,
        )
        for level in {forecast.stage.level for forecast in stages}
    )
