"""Status of an experiment as text, and as the page ``run.html``.

The text has one line per stage, then the jobs that need attention. ``run.html`` shows the time of each stage. The
report contains no times, so that equal results give a byte-identical report.
"""

import textwrap
from collections.abc import Iterator
from html import escape

from tokbench.io.html import html_page, html_table, write_html
from tokbench.workflow.job_states import STATES, State
from tokbench.workflow.status import JobReport, Overview, Stage

NAME = "run.html"
SHOWN_LONGEST = 20
"""Number of jobs that are listed as the longest."""
STYLE = "#stages tbody tr:last-child { font-weight: 600; }"
"""CSS of the row of all stages."""
MAX_LISTED = 20
"""Maximum jobs listed per state, unless all are requested."""
LISTED: tuple[State, ...] = ("failed", "running")
"""States whose jobs are listed."""
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def overview_text(seen: Overview, every: bool = False) -> str:
    """Return the overview as text, with all jobs if ``every`` is true (default: at most 20 per state of interest)."""
    lines = [*_head(seen), "", *_aligned(stage_rows(seen))]
    if note := estimate(seen):
        lines += ["", *textwrap.wrap(note, 110)]
    for state in STATES if every else LISTED:
        found = seen.in_state(state)
        shown = found if every else found[:MAX_LISTED]
        if found:
            lines += ["", f"{state.capitalize()}:", *(_job(seen, told) for told in shown)]
        if len(found) > len(shown):
            lines.append(f"  and {len(found) - len(shown):,} more; --jobs lists all")
    return "\n".join(lines) + "\n"


def summary(seen: Overview) -> str:
    """Return the number of jobs in each state as a sentence."""
    total = seen.total
    others = [f"{total.counts[state]:,} {state}" for state in STATES[1:] if total.counts[state]]
    return ", ".join([f"{total.counts['done']:,} of {total.jobs:,} jobs done", *others])


def run_line(seen: Overview) -> str:
    """Return a sentence on the run, and whether it is in progress."""
    run = seen.plan.run
    last = f"run of process {run.pid} on {run.host}, started {run.started},"
    match seen.life:
        case "running":
            return f"The {last} is in progress."
        case "ended":
            return f"The last {last} has ended."
    return f"The last {last} has no lock that is visible here; check on {run.host} whether it has ended."


def stage_rows(seen: Overview) -> list[list[str]]:
    """Return a header, a row per stage and one for all; states without jobs have no column."""
    states = [state for state in STATES if state == "done" or seen.total.counts[state]]
    heads = ["stage", "jobs", *states, "wall", "CPU", "longest", "left"]
    rows = [heads, *(_row(stage, states) for stage in (*seen.stages, seen.total))]
    if seen.unknown:
        rows[-1][-1] = rows[-1][-1].replace("~", ">")
    return rows


def estimate(seen: Overview) -> str:
    """Return a note on the estimate of the remaining time; empty if all jobs are done."""
    if seen.total.counts["done"] == seen.total.jobs:
        return ""
    text = "'left' estimates the total time of the remaining jobs from the mean time of the stage's finished jobs."
    if seen.unknown:
        text += f" There is no finished job yet in {', '.join(seen.unknown)}."
    return text


def duration(seconds: float | None) -> str:
    """Format a time with its unit; a dash for None."""
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


def _job(seen: Overview, told: JobReport) -> str:
    line = f"  {told.job.name}"
    if told.times:
        line += f": {duration(told.times.wall)}"
    if told.state == "failed" and told.job.log:
        line += f": {seen.plan.path(told.job.log)}: {told.message or 'its log says nothing'}"
    return line


def write_page(seen: Overview) -> None:
    """Write the page into the experiment's folder, atomically."""
    write_html(page(seen), seen.plan.folder / NAME)


def page(seen: Overview) -> str:
    """Return the page as self-contained HTML."""
    run = seen.plan.run
    name = escape(seen.plan.run.folder)
    jobs = [[told.job.name, *_times(told)] for told in _longest(seen)]
    failed = [
        [told.job.name, seen.plan.path(told.job.log) if told.job.log else "–", told.message or "its log says nothing"]
        for told in seen.in_state("failed")
    ]
    parts = [
        f"<h1>The run of {name}</h1>",
        f"<p>{escape(summary(seen))}. Started {escape(run.started)} by <code>{escape(run.command)}</code>.</p>",
        "<p>The time of a job is that of its last success, in this run or an earlier one. Wall is wall-clock time, CPU "
        "is processor time; both are sums over jobs. The CPU time of jobs shorter than half a second is unknown (–); "
        "sums without them are lower bounds (&gt;). The report contains no times, as these differ between runs.</p>",
        f'<div id="stages">{html_table("stages", stage_rows(seen))}</div>',
        f"<p>{escape(estimate(seen))}</p>" if estimate(seen) else "",
        f"<h2>The longest jobs</h2>{html_table('the longest jobs', [['job', 'wall', 'CPU'], *jobs])}" if jobs else "",
        f"<h2>Failed</h2>{html_table('failed jobs', [['job', 'log', 'last message'], *failed])}" if failed else "",
    ]
    return html_page(f"The run of {seen.plan.run.folder}", parts, STYLE)


def _longest(seen: Overview) -> list[JobReport]:
    timed = [told for told in seen.jobs if told.times]
    return sorted(timed, key=lambda told: -told.times.wall if told.times else 0.0)[:SHOWN_LONGEST]


def _times(told: JobReport) -> list[str]:
    return [duration(told.times.wall), duration(told.times.cpu)] if told.times else ["–", "–"]
