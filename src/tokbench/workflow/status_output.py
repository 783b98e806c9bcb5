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
LISTED_STATES: tuple[State, ...] = ("failed", "running")
"""States whose jobs are listed."""
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def overview_text(overview: Overview, complete: bool = False) -> str:
    """Return the overview as text, with all jobs if ``complete`` is true (default: at most 20 per listed state)."""
    lines = [*_head(overview), "", *_align(stage_rows(overview))]
    if note := estimate(overview):
        lines += ["", *textwrap.wrap(note, 110)]
    for state in STATES if complete else LISTED_STATES:
        reports = overview.in_state(state)
        listed = reports if complete else reports[:MAX_LISTED]
        if reports:
            lines += ["", f"{state.capitalize()}:", *(_job(overview, report) for report in listed)]
        if len(reports) > len(listed):
            lines.append(f"  and {len(reports) - len(listed):,} more; --jobs lists all")
    return "\n".join(lines) + "\n"


def summary(overview: Overview) -> str:
    """Return the number of jobs in each state as a sentence."""
    total = overview.total
    others = [f"{total.counts[state]:,} {state}" for state in STATES[1:] if total.counts[state]]
    return ", ".join([f"{total.counts['done']:,} of {total.jobs:,} jobs done", *others])


def run_line(overview: Overview) -> str:
    """Return a sentence on the run, and whether it is in progress."""
    run = overview.plan.run
    last = f"run of process {run.pid} on {run.host}, started {run.started},"
    match overview.life:
        case "running":
            return f"The {last} is in progress."
        case "ended":
            return f"The last {last} has ended."
    return f"The last {last} has no lock that is visible here; check on {run.host} whether it has ended."


def stage_rows(overview: Overview) -> list[list[str]]:
    """Return a header, a row per stage and one for all; states without jobs have no column."""
    states = [state for state in STATES if state == "done" or overview.total.counts[state]]
    heads = ["stage", "jobs", *states, "wall", "CPU", "longest", "left"]
    rows = [heads, *(_row(stage, states) for stage in (*overview.stages, overview.total))]
    if overview.unknown:
        rows[-1][-1] = rows[-1][-1].replace("~", ">")
    return rows


def estimate(overview: Overview) -> str:
    """Return a note on the estimate of the remaining time; empty if all jobs are done."""
    if overview.total.counts["done"] == overview.total.jobs:
        return ""
    text = "'left' estimates the total time of the remaining jobs from the mean time of the stage's finished jobs."
    if overview.unknown:
        text += f" There is no finished job yet in {', '.join(overview.unknown)}."
    return text


def duration(seconds: float | None) -> str:
    """Format a time with its unit; a dash for None."""
    if seconds is None:
        return "–"
    for size, unit in UNITS:
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _head(overview: Overview) -> Iterator[str]:
    yield f"{overview.plan.folder}: {summary(overview)}"
    yield run_line(overview)


def _align(rows: list[list[str]]) -> Iterator[str]:
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
        ("" if stage.cpu is None or stage.cpu_complete else ">") + duration(stage.cpu),
        duration(took.wall if took else None),
        f"~{duration(stage.left)}" if stage.left else "–" if stage.left == 0 else "?",
    ]


def _job(overview: Overview, report: JobReport) -> str:
    line = f"  {report.job.name}"
    if report.times:
        line += f": {duration(report.times.wall)}"
    if report.state == "failed" and report.job.log:
        line += f": {overview.plan.path(report.job.log)}: {report.message or 'its log says nothing'}"
    return line


def write_page(overview: Overview) -> None:
    """Write the page into the experiment's folder, atomically."""
    write_html(page(overview), overview.plan.folder / NAME)


def page(overview: Overview) -> str:
    """Return the page as self-contained HTML."""
    run = overview.plan.run
    name = escape(overview.plan.run.folder)
    jobs = [[report.job.name, *_times(report)] for report in _longest_jobs(overview)]
    failed = [
        [
            report.job.name,
            overview.plan.path(report.job.log) if report.job.log else "–",
            report.message or "its log says nothing",
        ]
        for report in overview.in_state("failed")
    ]
    parts = [
        f"<h1>The run of {name}</h1>",
        f"<p>{escape(summary(overview))}. Started {escape(run.started)} by <code>{escape(run.command)}</code>.</p>",
        "<p>The time of a job is that of its last success, in this run or an earlier one. Wall is wall-clock time, CPU "
        "is processor time; both are sums over jobs. The CPU time of jobs shorter than half a second is unknown (–); "
        "sums without them are lower bounds (&gt;). The report contains no times, as these differ between runs.</p>",
        f'<div id="stages">{html_table("stages", stage_rows(overview))}</div>',
        f"<p>{escape(estimate(overview))}</p>" if estimate(overview) else "",
        f"<h2>The longest jobs</h2>{html_table('the longest jobs', [['job', 'wall', 'CPU'], *jobs])}" if jobs else "",
        f"<h2>Failed</h2>{html_table('failed jobs', [['job', 'log', 'last message'], *failed])}" if failed else "",
    ]
    return html_page(f"The run of {overview.plan.run.folder}", parts, STYLE)


def _longest_jobs(overview: Overview) -> list[JobReport]:
    timed = [report for report in overview.jobs if report.times]
    return sorted(timed, key=lambda report: -report.times.wall if report.times else 0.0)[:SHOWN_LONGEST]


def _times(report: JobReport) -> list[str]:
    return [duration(report.times.wall), duration(report.times.cpu)] if report.times else ["–", "–"]
