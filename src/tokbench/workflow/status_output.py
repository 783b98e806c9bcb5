"""The overview for a terminal: what stands where, a line a stage, then the jobs that a person wants to know of.

The page ``run.html`` beside the report: how long each stage of the run took.

The report itself tells no times of the run. It is the same, byte by byte, whenever the results are; times never are.

What the trainings of an experiment's models took, from their manifests.

What was read is in the table ``trained_on``, too. No table holds the rest: tables are the same from run to run, and
speed, memory and energy are not.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.json import read_json
from tokbench.workflow.job_states import STATES, State
from tokbench.workflow.status import JobReport, Overview, Stage

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


def _job(seen: Overview, told: JobReport) -> str:
    line = f"  {told.job.name}"
    if told.times:
        line += f": {duration(told.times.wall)}"
    if told.state in ("failed", "interrupted") and told.job.log:
        line += f": {seen.plan.path(told.job.log)}: {told.message or 'its log says nothing'}"
    return line


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


def _longest(seen: Overview) -> list[JobReport]:
    timed = [told for told in seen.jobs if told.times]
    return sorted(timed, key=lambda told: -told.times.wall if told.times else 0.0)[:LONGEST]


def _times(told: JobReport) -> list[str]:
    return [duration(told.times.wall), duration(told.times.cpu)] if told.times else ["–", "–"]


def _table(name: str, heads: list[str], *rows: list[str]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{name}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


READ = ("text_bytes", "tokens", "flops")
MODELS = {
    "language": "models/{model}/{variant}/{size}",
    "byte": "byte_lm/{text}/{model}/model",
    "translation": "translation_models/{model}/{text}/{source}/{target}/{variant}/{target_variant}/{size}",
}
"""Kinds of models, and where they lie in an experiment's folder."""


class Training(NamedTuple):
    """One training; None where nothing is known, or where there is no such thing.

    Attributes:
        kind: of the model: one of :data:`MODELS`.
        model: its name.
        text: corpus of a byte language model; of a translation model its parallel corpus and languages, by slashes.
        variant: its tokenizer's; of two those of source and target, by a slash.
        size: vocabulary size of that.
        device: name of one.
        devices: processes, a device each.
        text_bytes: read; None where the tokens' bytes are not known, too.
        tokens: seen: of a byte language model bytes, of a translation model those of the target.
        flops: floating-point operations, by a formula.
        seconds: from first batch to last.
        tokens_per_second: of all devices.
        mfu: model FLOPs utilisation, a share.
        peak_gib: most memory of any process, or of its GPU.
        joules: of all GPUs.
        starts: times that it was begun or gone on with.
    """

    kind: str
    model: str
    text: str | None
    variant: str | None
    size: str | None
    device: str | None
    devices: int | None
    text_bytes: int | None
    tokens: int | None
    flops: float | None
    seconds: float | None
    tokens_per_second: float | None
    mfu: float | None
    peak_gib: float | None
    joules: float | None
    starts: int | None


def trainings(results: Path, peak: float | None = None) -> Iterator[Training]:
    """Every trained model of an experiment that stands, by kind, name, text, tokenizer and size.

    Args:
        results: the experiment's folder.
        peak: TFLOP/s of one device, in place of what is known by its name.

    Raises:
        TokbenchError: there is no model, or a manifest that is none.
    """
    found = [own for kind in MODELS for own in sorted(_of_kind(results, kind, peak), key=_by_name_and_size)]
    if not found:
        raise TokbenchError(f"{results}: no trained model stands there; name an experiment's folder that has one")
    yield from found


def _of_kind(results: Path, kind: str, peak: float | None) -> Iterator[Training]:
    place = MODELS[kind]
    for file in results.glob(f"{re.sub('{.*?}', '*', place)}/manifest.json"):
        settings = read_json(file, "train it again", lenient=True).get("settings", {})
        if settings.get("kind") == "ngram":  # Counted, not trained.
            continue
        parts = file.relative_to(results).parts
        where = {key.strip("{}"): part for key, part in zip(place.split("/"), parts, strict=False) if key[0] == "{"}
        took, read = settings.get("effort", {}), settings.get("read", {})
        mfu = took.get("mfu")
        if peak is not None and (rate := took.get("tokens_per_second")) and took.get("flops_per_token"):
            mfu = rate * took["flops_per_token"] / (peak * 1e12 * settings.get("devices", 1))
        told: dict[str, Any] = {**took, "mfu": mfu, **{name: read.get(name) for name in READ}, **where}
        told |= {name: settings.get(name) for name in ("device", "devices")}
        if kind == "translation":
            told["text"] = "/".join(where[name] for name in ("text", "source", "target"))
            told["variant"] = "/".join(dict.fromkeys((where["variant"], where["target_variant"])))
        yield Training(kind, **{name: told.get(name) for name in Training._fields[1:]})  # type: ignore[arg-type]


def _by_name_and_size(training: Training) -> tuple[str, str, str, int, str]:
    size = training.size or ""
    return training.model, training.text or "", training.variant or "", int(size) if size.isdecimal() else 0, size


FORMS = {"mfu": ".3f", "peak_gib": ",.2f", "flops": ".3e"}
"""Numbers that print otherwise than as whole ones."""


def shown(rows: Sequence[Training]) -> list[str]:
    """A line each below a heading, in columns."""
    cells = [list(Training._fields), *([_cell(*field) for field in row._asdict().items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:{FORMS.get(name, ',.0f')}}"
    return f"{value:,}" if isinstance(value, int) else str(value)
