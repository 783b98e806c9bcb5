"""Status of an experiment as text, as the page ``run.html``, and the training cost of its models.

The text has one line per stage, then the jobs that need attention. ``run.html`` shows the time of each stage. The
report contains no times, so that equal results give a byte-identical report.

Training cost is read from manifests: speed, memory and energy. They are in no table, as tables are identical between
runs. The amount of text read is in the table ``trained_on``, too.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.io.html import html_page, html_table, write_html
from tokbench.io.json import read_json
from tokbench.workflow.job_states import STATES, State
from tokbench.workflow.status import JobReport, Overview, Stage

MOST = 20
"""Maximum jobs listed per state, unless all are requested."""
LISTED: tuple[State, ...] = ("failed", "interrupted", "running", "queued")
"""States whose jobs are listed."""
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def overview_text(seen: Overview, every: bool = False) -> str:
    """Return the overview as text, with all jobs if ``every`` is true (default: at most 20 per state of interest)."""
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
    if told.state in ("failed", "interrupted") and told.job.log:
        line += f": {seen.plan.path(told.job.log)}: {told.message or 'its log says nothing'}"
    return line


NAME = "run.html"
LONGEST = 20
"""Number of jobs that are listed as the longest."""
STYLE = "#stages tbody tr:last-child { font-weight: 600; }"
"""CSS of the row of all stages."""


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
        for told in (*seen.those("failed"), *seen.those("interrupted"))
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
    return sorted(timed, key=lambda told: -told.times.wall if told.times else 0.0)[:LONGEST]


def _times(told: JobReport) -> list[str]:
    return [duration(told.times.wall), duration(told.times.cpu)] if told.times else ["–", "–"]


READ = ("text_bytes", "tokens", "flops")
MODELS = {
    "language": "models/{model}/{variant}/{size}",
    "byte": "byte_lm/{text}/{model}/model",
    "translation": "translation_models/{model}/{text}/{source}/{target}/{variant}/{target_variant}/{size}",
}
"""Kinds of models, and their paths in an experiment's folder."""


class Training(NamedTuple):
    """One training; None where a value is unknown or not applicable.

    Attributes:
        kind: kind of the model: a key of :data:`MODELS`.
        model: its name.
        text: corpus of a byte language model; parallel corpus and languages of a translation model, separated by
            slashes.
        variant: variant of its tokenizer; two are source and target, separated by a slash.
        size: vocabulary size of the tokenizer.
        device: name of a device.
        devices: number of processes, one device each.
        text_bytes: bytes read; None if the bytes of tokens are not known, too.
        tokens: tokens seen: bytes for a byte language model, target tokens for a translation model.
        flops: floating-point operations, by a formula.
        seconds: seconds from first batch to last.
        tokens_per_second: tokens per second of all devices.
        mfu: model FLOPs utilisation, a fraction.
        peak_gib: peak memory of any process, or of its GPU, in GiB.
        joules: energy of all GPUs.
        starts: number of times that it was started or continued.
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
    """Yield the trained models of an experiment, sorted by kind, name, text, tokenizer and size.

    Args:
        results: the experiment's folder.
        peak: peak TFLOP/s of one device (default: known by its name).

    Raises:
        TokbenchError: there is no model, or a manifest is not valid.
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
"""Formats of numbers that are not printed as integers."""


def shown(rows: Sequence[Training]) -> list[str]:
    """Return a header and one line per training, in aligned columns."""
    cells = [list(Training._fields), *([_cell(*field) for field in row._asdict().items()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:{FORMS.get(name, ',.0f')}}"
    return f"{value:,}" if isinstance(value, int) else str(value)
