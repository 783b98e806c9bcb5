"""The overview for a terminal: what stands where, a line a stage, then the jobs that a person wants to know of."""

import textwrap
from collections.abc import Iterator

from tokbench.status.overview import Overview, Stage, Told
from tokbench.status.traces import STATES, State

MOST = 20
"""Jobs of a state that are listed, unless all are asked for."""
LISTED: tuple[State, ...] = ("failed", "interrupted", "running", "queued")
"""States of which the jobs are listed."""
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def overview_text(seen: Overview, every: bool = False) -> str:
    """All of it, with every job where ``every`` says so."""
    lines = [*_head(seen), "", *_aligned(stage_rows(seen))]
    if note := estimate(seen):
        lines += ["", *textwrap.wrap(note, 110)]
    for state in STATES if every else LISTED:
        found = seen.those(state)
        shown = found if every else found[:MOST]
        if found:
            lines += ["", f"{state.capitalize()}:", *(_job(seen, told) for told in shown)]
        if len(found) > len(shown):
            lines.append(f"  and {len(found) - len(shown):,} more; --jobs lists all")
    return "\n".join(lines) + "\n"


def summary(seen: Overview) -> str:
    """How many jobs are in each state, in words."""
    total = seen.total
    others = [f"{total.counts[state]:,} {state}" for state in STATES[1:] if total.counts[state]]
    return ", ".join([f"{total.counts['done']:,} of {total.jobs:,} jobs done", *others])


def run_line(seen: Overview) -> str:
    """Whether the run is at work, and what it was."""
    run = seen.plan.run
    last = f"of process {run.pid} on {run.host}, begun {run.started},"
    match seen.life:
        case "running":
            return f"The run {last} is at work."
        case "ended":
            return f"The last run, {last} has ended."
    return f"The last run, {last} holds no lock that can be seen from here; only {run.host} can tell that it has ended."


def stage_rows(seen: Overview) -> list[list[str]]:
    """Heads, a row a stage and one for all; states without a job have no column."""
    states = [state for state in STATES if state == "done" or seen.total.counts[state]]
    heads = ["stage", "jobs", *states, "wall", "CPU", "longest", "left"]
    rows = [heads, *(_row(stage, states) for stage in (*seen.stages, seen.total))]
    if seen.unknown:
        rows[-1][-1] = rows[-1][-1].replace("~", ">")
    return rows


def estimate(seen: Overview) -> str:
    """What the column of what is left stands on; nothing where all is done."""
    if seen.total.counts["done"] == seen.total.jobs:
        return ""
    text = "Left is an estimate of jobs' time, added up: as long as those of the stage that are done took on average."
    if seen.unknown:
        text += f" Nothing is done yet to go by in {', '.join(seen.unknown)}."
    return text


def duration(seconds: float | None) -> str:
    """A time with its unit; a dash where there is none."""
    if seconds is None:
        return "–"
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _head(seen: Overview) -> Iterator[str]:
    yield f"{seen.plan.folder}: {summary(seen)}"
    yield run_line(seen)


def _aligned(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        yield "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])


def _row(stage: Stage, states: list[State]) -> list[str]:
    took = stage.longest.times if stage.longest else None
    timed = took is not None
    return [
        stage.name,
        f"{stage.jobs:,}",
        *(f"{stage.counts[state]:,}" if stage.counts[state] else "–" for state in states),
        duration(stage.wall if timed else None),
        ("" if stage.cpu is None or stage.cpu_whole else ">") + duration(stage.cpu),
        duration(took.wall if took else None),
        f"~{duration(stage.left)}" if stage.left else "–" if stage.left == 0 else "?",
    ]


def _job(seen: Overview, told: Told) -> str:
    line = f"  {told.job.name}"
    if told.times:
        line += f": {duration(told.times.wall)}"
    if told.state in ("failed", "interrupted") and told.job.log:
        line += f": {seen.plan.path(told.job.log)}: {told.message or 'its log says nothing'}"
    return line
