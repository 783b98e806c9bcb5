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
h1, p, code { overflow-wrap: anywhere; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
#stages tbody tr:last-child { font-weight: 600; }"""


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
        "<p>A job's time is that of its last success, in whichever run that was. Wall is time on the clock, CPU is "
        "time of processors; both are added up over jobs. CPU of jobs of less than half a second is not known (–); a "
        "sum without theirs is a lower bound (&gt;). Times differ from run to run and results do not, so that the "
        "report holds no times.</p>",
        f'<div id="stages">{_table("stages", *stage_rows(seen))}</div>',
        f"<p>{escape(estimate(seen))}</p>" if estimate(seen) else "",
        f"<h2>The longest jobs</h2>{_table('the longest jobs', ['job', 'wall', 'CPU'], *jobs)}" if jobs else "",
        f"<h2>Failed</h2>{_table('failed jobs', ['job', 'log', 'last message'], *failed)}" if failed else "",
    ]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The run of {name}</title>\n<style>\n{STYLE}\n</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _longest(seen: Overview) -> list[Told]:
    timed = [told for told in seen.jobs if told.times]
    return sorted(timed, key=lambda told: -told.times.wall if told.times else 0.0)[:LONGEST]


def _times(told: Told) -> list[str]:
    return [duration(told.times.wall), duration(told.times.cpu)] if told.times else ["–", "–"]


def _table(name: str, heads: list[str], *rows: list[str]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{name}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )
