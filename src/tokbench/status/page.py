"""The page ``run.html`` beside the report: how long each stage of the run took.

The report itself tells no times of the run. It is the same, byte by byte, whenever the results are; times never are.
"""

from html import escape

from tokbench.atomic import atomic_file
from tokbench.status.overview import Overview, Told
from tokbench.status.terminal import duration, estimate, stage_rows, summary

NAME = "run.html"
LONGEST = 20
"""Jobs that are listed as those that took longest."""
STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
table:first-of-type tbody tr:last-child { font-weight: 600; }"""


def write_page(seen: Overview) -> None:
    """Write the page into the experiment's folder, whole or not at all."""
    with atomic_file(seen.plan.folder / NAME) as partial:
        partial.write_text(page(seen), encoding="utf-8", errors="backslashreplace")


def page(seen: Overview) -> str:
    """One HTML page that needs nothing but itself."""
    run = seen.plan.run
    name = escape(seen.plan.run.folder)
    jobs = [[told.job.name, *_times(told)] for told in _longest(seen)]
    failed = [
        [told.job.name, seen.plan.path(told.job.log) if told.job.log else "–", told.message or "its log says nothing"]
        for told in (*seen.those("failed"), *seen.those("interrupted"))
    ]
    parts = [
        f"<h1>The run of {name}</h1>",
        f"<p>{escape(summary(seen))}. Begun {escape(run.started)} by <code>{escape(run.command)}</code>.</p>",
        "<p>Times are those of each job's last success, from the run that made it: wall is on the clock, CPU of "
        "processors, both added up over jobs. CPU of jobs of less than half a second is not known (–); a sum without "
        "theirs is a lower bound (&gt;). Times differ from run to run, results do not; the report therefore holds none "
        "of them.</p>",
        _table(*stage_rows(seen)),
        f"<p>{escape(estimate(seen))}</p>" if estimate(seen) else "",
        f"<h2>The longest jobs</h2>{_table(['job', 'wall', 'CPU'], *jobs)}" if jobs else "",
        f"<h2>Failed</h2>{_table(['job', 'log', 'last message'], *failed)}" if failed else "",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>The run of {name}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _longest(seen: Overview) -> list[Told]:
    timed = [told for told in seen.jobs if told.times]
    return sorted(timed, key=lambda told: -told.times.wall if told.times else 0.0)[:LONGEST]


def _times(told: Told) -> list[str]:
    return [duration(told.times.wall), duration(told.times.cpu)] if told.times else ["–", "–"]


def _table(heads: list[str], *rows: list[str]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
