"""Generator of docs/measured/performance.md and its figures, from the files of one run.

python -m benchmarks.speed.page build/benchmarks docs
"""

import argparse
import csv
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.speed import plots
from benchmarks.speed.summary import Entry, Row, command_line, entries, exponent, growth, least, read_runs, tasks_of
from benchmarks.speed.tasks import ALONE, COUNTING, LANGUAGES, TRAINING

BESIDE = """\
Measured with one thread:

- *Work* is the time around the call, in the process. It excludes start, imports and reading the text, for every
  library; a library that accepts only a file reads the file within that time. Every encoder first makes one call on a
  few words, because some libraries import NumPy or build tables in their first call.
- *Process* is the time of the process, a Python program that calls the library.
- The row below Tokbench is its command line (`tokbench count`, then `tokbench build`, which also writes and compares
  `tokenizer.json`; `tokbench encode`), with the memory of its largest process.
- Seconds and MiB are the best of the rounds. *x ours* is the median of the ratios of neighbouring runs, for work and
  for the process.

All encode with the same vocabulary, except `sentencepiece`, which has its own. Feeding line by line changes counts
slightly, because runs of white space then no longer cross line ends.
"""
EXISTING = """\
Ranks as OpenAI published them, at full size, and a vocabulary of our own, built from the text in many languages. One
thread, only work. The peers are as above: `tiktoken` with its own pattern of the same name, the others with our export
of the same tokenizer. An encoder starts with an empty cache. Megabytes are 10^6 bytes of UTF-8.
"""
FROM_COUNTS = """\
The same trainers without counting. For peers that can also only count: the best time of training minus the best time
of counting. For Tokbench: the construction from counts.
"""
LIMITS = """\
The lower bound by memory is the bytes that must be read or written divided by the bandwidth of reading, plus the
random look-ups in tables divided by their rate. *Of the limit* is that bound divided by the time used, on one thread.
Encoding starts with an empty cache.
"""
GROWTH = """\
Seconds of work, best of the rounds. *Power* is the exponent p if the time grows as quantity^p.
"""

THREADS = """\
Steps over the text, its pre-tokens or the candidate tokens are divided among threads, in parts that do not depend on
the number of threads; so are seeds and tries. One thread sorts tokens and decides which are removed.
"""


def seconds(value: float) -> str:
    """Format seconds with at most three significant digits; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def times(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Format a Markdown table; all columns except the first are right-aligned."""
    head = list(head)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def beside(rows: list[Row]) -> str:
    """Return the table of every task with every peer."""
    head = ("task", "by", "work, s", "x ours", "process, s", "x ours", "peak, MiB", "x ours", "result")
    return table(head, _beside(rows))


def _beside(rows: list[Row]) -> Iterator[list[str]]:
    for title, runs in tasks_of(rows, "peers"):
        ours, peers = entries(runs)
        note = f" ({ours.note})" if ours.note else ""
        yield [title, f"**{ours.label}**{note}", *_cells(ours), f"{ours.tokens:,}"]
        whole, peak = command_line(runs)
        if not math.isnan(whole):
            yield ["", "its command line", "", "", seconds(whole), "", f"{peak:.0f}", "", ""]
        for peer in sorted(peers, key=lambda peer: (bool(peer.note), peer.work)):
            if math.isnan(peer.whole) or peer.note not in ("", "other ids"):
                yield ["", peer.label, *["–"] * 6, peer.note.replace("|", " ")]
                continue
            shown = f"{peer.tokens:,}" + (f", {peer.note}" if peer.note else "")
            yield ["", peer.label, *_cells(peer, ours), shown]


def _cells(entry: Entry, ours: Entry | None = None) -> list[str]:
    work, whole, peak = seconds(entry.work), seconds(entry.whole), f"{entry.peak:.0f}"
    if ours is None:
        return [work, "", whole, "", peak, ""]
    return [work, times(entry.ratio), whole, times(entry.whole_ratio), peak, times(entry.peak / ours.peak)]


def existing(rows: list[Row], facts: dict[str, Any]) -> str:
    """Return the table of encoding with external tokenizers, and of the multilingual text."""
    return table(("tokenizer; text", "by", "work, s", "MB/s", "x ours", "peak, MiB", "tokens"), _existing(rows, facts))


def _existing(rows: list[Row], facts: dict[str, Any]) -> Iterator[list[str]]:
    for title, runs in tasks_of(rows, "existing"):
        text = facts["languages"] if runs[0]["task"].endswith(LANGUAGES) else facts
        ours, peers = entries(runs)
        for peer in (ours, *sorted(peers, key=lambda peer: (bool(peer.note), peer.work))):
            first = [title, f"**{peer.label}**"] if peer is ours else ["", peer.label]
            if math.isnan(peer.work):
                yield [*first, *["–"] * 4, peer.note.replace("|", " ")]
                continue
            speed = [seconds(peer.work), f"{text['bytes'] / peer.work / 1e6:.3g}"]
            told = f"{peer.tokens:,}" + (f", {peer.note}" if peer.note else "")
            yield [*first, *speed, "" if peer is ours else times(peer.ratio), f"{peer.peak:.0f}", told]


def languages(facts: dict[str, Any] | None) -> str:
    """Describe the multilingual text; empty if there is none."""
    if facts is None:
        return ""
    return (
        f"Many languages: {facts['bytes'] / 1e6:.1f} MB in {facts['documents']} documents, {facts['pretokens']:,} "
        f"pre-tokens of `gpt2`, {facts['unique_pretokens']:,} of them different, "
        f"{facts['unique_bytes'] / 1e3:,.0f} kB."
    )


def measured_again(about: dict[str, Any]) -> str:
    """Return the tasks that were measured again after the run, from :file:`machine.json`, by day."""
    return "".join(f", except {tasks}, measured again on {day}" for day, tasks in about.get("again", {}).items())


def verdict(rows: list[Row]) -> str:
    """Return one line per task: the fastest peer, and the peer with the least memory."""
    head = (
        "task",
        "fastest peer",
        "work, x ours",
        "process, x ours",
        "leanest peer",
        "our memory, x its",
    )
    return table(head, _verdict(rows))


def _verdict(rows: list[Row]) -> Iterator[list[str]]:
    for title, runs in tasks_of(rows, "peers"):
        ours, peers = entries(runs)
        able = [peer for peer in peers if not peer.note]
        if not able:
            yield [title, "none measured", "–", "–", "–", "–"]
            continue
        fastest, leanest = min(able, key=lambda peer: peer.work), min(able, key=lambda peer: peer.peak)
        yield [
            title,
            fastest.label,
            times(fastest.ratio),
            times(fastest.whole_ratio),
            leanest.label,
            f"{ours.peak / leanest.peak:.2f}",
        ]


def from_counts(rows: list[Row]) -> str:
    """Return the table of training from counts, with peers whose time includes counting."""
    named = {task.key: task.title for task in (COUNTING, *TRAINING)}
    lines = []
    for key, title in list(named.items())[1:]:
        ours = least((row for row in rows if row["task"] == key.replace("train", "build")), "work")
        lines.append([title, "**tokbench**", seconds(ours), ""])
        for package in ("tokenizers", "gigatoken"):
            trained, counted = (
                least((row for row in rows if row["task"] == task and row["package"] == package), "work")
                for task in (key, "count")
            )
            if not math.isnan(trained - counted):
                lines.append(["", package, seconds(trained - counted), times((trained - counted) / ours)])
    return table(("task", "by", "work, s", "x ours"), lines)


def alone(rows: list[Row], facts: dict[str, Any]) -> str:
    """Return the table of tasks without peers, with reported times of programs that are not available."""
    reported = {task.title: task.reported for task in ALONE}
    found = dict(tasks_of(rows, "ours"))
    merge = next((least(runs, "work") for runs in found.values() if runs[0]["task"] == "encode_merge"), math.nan)
    lines = []
    for title, runs in found.items():
        work = least(runs, "work")
        told, size = reported[title], runs[0]["size"]
        remark = runs[0]["error"]
        if told:
            remark = f"{told / work:.0f} times as fast as the {told:.0f} s reported of the Python reference"
        elif runs[0]["task"].startswith("encode_") and not remark:
            remark = f"{facts['bytes'] / work / 1e6:.0f} MB/s, {work / merge:.2f} x merge"
        result = f"{int(runs[0].number('tokens')):,}" if not runs[0]["error"] else "–"
        lines.append([title, f"{int(size):,}", seconds(work), f"{least(runs, 'peak_mib'):.0f}", result, remark])
    return table(("task", "size", "work, s", "peak, MiB", "result", ""), lines)


def grown(rows: list[Row], by: str, form: str) -> str:
    """Return the table of seconds by a quantity, with the exponent of growth."""
    found = growth(rows, by)
    values = sorted({value for series in found.values() for value in series})
    lines = [
        [title, *(seconds(series.get(value, math.nan)) for value in values), f"{exponent(series):.2f}"]
        for title, series in found.items()
    ]
    return table(("task", *(form.format(value) for value in values), "power"), lines)


def threaded(rows: list[Row]) -> str:
    lines = [
        [title, *map(seconds, series.values()), times(series[1.0] / series[max(series)])]
        for title, series in growth(rows, "threads").items()
    ]
    return table(("task", "one thread, s", "two threads, s", "faster by"), lines)


def limits(path: Path, about: dict[str, Any]) -> str:
    """Return the table of kernels and their lower bounds."""
    lines = []
    with path.open(newline="", encoding="utf-8") as source:
        for row in csv.DictReader(source):
            taken, bytes_, lookups = float(row["seconds"]), float(row["bytes"]), float(row["lookups"])
            streamed, looked_up = bytes_ / about["read"], lookups * about["random_read"]
            lines.append(
                [
                    row["kernel"],
                    row["formula"],
                    f"{bytes_ / 1e6:.1f}",
                    f"{lookups / 1e6:.2f}",
                    f"{taken * 1e3:.1f}",
                    f"{bytes_ / taken / 1e9:.2f}",
                    f"{(streamed + looked_up) / taken:.0%}",
                ]
            )
    return table(("kernel", "at least", "MB", "million places", "ms", "GB/s", "of the limit"), lines)


def studied(results: Path) -> Iterator[str]:
    """Yield single comparisons, and the second core: title, method and printed output."""
    for path in sorted(results.glob("*.txt")):
        title, how, *printed = path.read_text(encoding="utf-8").splitlines()
        yield f"## {title}"
        yield fill(how, 120, break_on_hyphens=False)
        yield "\n".join(["```", *printed, "```"])


def page(folder: Path, results: Path) -> str:
    rows = read_runs(results / "runs.parquet")
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    about = json.loads((results / "machine.json").read_text(encoding="utf-8"))
    versions = json.loads((results / "versions.json").read_text(encoding="utf-8"))
    found = existing(rows, facts) if any(row["section"] == "existing" for row in rows) else ""
    named = ", ".join(f"{name} {version or '(not installed)'}" for name, version in versions.items())
    parts = [
        "# Performance",
        "This page compares the speed and memory of Tokbench with those of other libraries.",
        "```\nmake benchmarks TEXT=... LANGUAGES=... EXISTING=... PEERS=...\n```",
        "This command repeats all measurements and writes this page. [`runs.parquet`](performance/runs.parquet) has\n"
        "every run, [`benchmarks/`](../../benchmarks) the programs.",
        f"The text: {facts['bytes'] / 1e6:.1f} MB in {facts['documents']} documents, {facts['pretokens']:,} pre-tokens "
        f"of `gpt2`, {facts['unique_pretokens']:,} of them\ndifferent, "
        f"{facts['unique_bytes'] / 1e3:,.0f} kB. The machine: {about['processor']}, {about['cores']} processors, "
        f"{about['memory_gib']} GiB, {about['system']},\nPython {about['python']}. Versions: {named}.",
        f"All numbers of this page are of that machine and of one run, which ended on {about['day']}"
        f"{measured_again(about)};\nlater changes are not included. [Scale](scale.md) and [one GPU](gpu.md) were "
        "measured on machines that these pages name.",
        "## Compared with other libraries",
        verdict(rows),
        "![Work of the peers, as multiples of ours](performance/peers.svg)",
        BESIDE,
        beside(rows),
        "![Peak memory](performance/memory.svg)",
        *(["### External tokenizers, many languages", EXISTING, languages(facts["languages"]), found] if found else []),
        "### From counts",
        FROM_COUNTS,
        from_counts(rows),
        "## Tokbench without peers",
        "One thread, only work; memory is that of a Python process that imports the package.",
        alone(rows, facts),
        "## Growth",
        GROWTH,
        "![Growth](performance/growth.svg)",
        "### With the text",
        grown(rows, "share", "{:g} of the text"),
        "### With the vocabulary",
        grown(rows, "size", "{:,.0f} tokens"),
        "### With threads",
        THREADS,
        threaded(rows),
        "## Kernels and their limits",
        LIMITS + f"Here one thread reads {about['read'] / 1e9:.1f} GB/s, copies {about['copy'] / 1e9:.1f} GB/s (reads "
        f"and writes together)\nand looks up {1e-6 / about['random_read']:.0f} million places a second in a "
        "table of 4 MiB.",
        limits(results / "limits.csv", about),
        *studied(results),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="output folder of prepare.py")
    parser.add_argument("results", type=Path, help="folder of performance.md and performance/")
    arguments = parser.parse_args()
    results = arguments.results / "performance"
    plots.draw(read_runs(results / "runs.parquet"), results)
    (arguments.results / "performance.md").write_text(page(arguments.folder, results), encoding="utf-8")


if __name__ == "__main__":
    main()
