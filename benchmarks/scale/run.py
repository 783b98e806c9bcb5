"""Benchmark of time, memory and disk of every stage on large texts; writes docs/measured/scale.md.

    python -m benchmarks.scale.run FOLDER --gigabytes 0.25 0.5 1 2

FOLDER contains text, see ``text.py``. For each size, the jobs of an experiment run in sequence, each as a separate
process with the command line of the workflow (``plan.py``). Processor time, resident memory and disk are recorded, one
line per process, in ``docs/measured/performance/scale.csv``. The first run is on one megabyte, for the start-up costs.
A construction that is expected to exceed ``--longest`` seconds, by its growth from one size to the next, is skipped,
and its line has the reason.

Other sizes in the CSV are kept.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.scale.plan import CORPORA, FIRST, SCORE, TEXT, THEN, Job, experiment, numbers, planned
from benchmarks.scale.text import GIGABYTE, cut
from benchmarks.speed.measure import run

START = 0.001
"""Size in GB for start-up costs."""


@dataclass(frozen=True)
class Process:
    """A process: one line of ``scale.csv``.

    Attributes:
        gigabytes: requested size in GB.
        stage, name: as in :class:`benchmarks.scale.plan.Job`.
        text_bytes: size of the corpus; a job of several reads its share.
        pretokens: number of unique pre-tokens, if already counted.
        jobs: number of jobs of the stage.
        processor, wall: time in seconds.
        peak_mb: peak resident memory in MB (10**6 bytes); bound_mb: limit of the rule.
        disk_bytes: size of its output.
        error: reason for missing numbers.
    """

    gigabytes: float
    stage: str
    name: str
    text_bytes: int
    pretokens: int
    jobs: int
    processor: float
    wall: float
    peak_mb: float
    bound_mb: int
    disk_bytes: int
    error: str = ""


class Scale:
    """The runs so far, and their CSV file.

    Args:
        table: the CSV file.
        again: sizes whose lines are replaced.
        longest: maximum seconds of a job.
        without: constructions to skip.
    """

    def __init__(self, table: Path, again: list[float], longest: float, without: Sequence[str] = ()) -> None:
        self.table, self.longest, self.without = table, longest, without
        self.done = [process for process in read(table) if process.gigabytes not in again]

    def add(self, process: Process) -> None:
        """Append a process to the file."""
        self.done.append(process)
        self.table.parent.mkdir(parents=True, exist_ok=True)
        with self.table.open("w", newline="", encoding="utf-8") as target:
            writer = csv.DictWriter(target, [field.name for field in fields(Process)], lineterminator="\n")
            writer.writeheader()
            for row in map(asdict, sorted(self.done, key=lambda kept: kept.gigabytes)):
                shown = {key: f"{value:.6g}" for key, value in row.items() if isinstance(value, float)}
                writer.writerow({**row, **shown})
        told = process.error or f"{process.processor:8.2f} s {process.peak_mb:7.0f} of {process.bound_mb:6} MB"
        print(f"{process.gigabytes:6g} GB  {process.stage:24}{process.name:28.28}{told}", file=sys.stderr, flush=True)

    def expected(self, stage: str, gigabytes: float) -> float:
        """Extrapolate the seconds of the longest job of a stage from the two previous sizes."""
        seen: dict[float, float] = {}
        for process in self.done:
            size = process.gigabytes
            if process.stage == stage and START < size < gigabytes and not process.error:
                seen[size] = max(process.processor, seen.get(size, 0.0))
        if not seen:
            return 0.0
        *before, last = sorted(seen)
        grown = seen[last] / seen[before[-1]] if before else gigabytes / last
        return seen[last] * max(1.0, grown)


def read(table: Path) -> list[Process]:
    """Read the lines of a CSV file; empty if it does not exist."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kinds = Process.__annotations__
    return [Process(**{key: kinds[key](value) for key, value in row.items()}) for row in rows]


ROOT = Path(__file__).parents[2]
SCALE = "scale"
COUNTED = re.compile(r"([\d,]+) unique pre-tokens, ([\d,]+) in all")
MEASURED = "bpe"
"""The only variant whose tokenizer is measured, because the cost is the same for all."""


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    if path.is_dir():
        return sum(Path(parent, name).lstat().st_size for parent, _, names in os.walk(path) for name in names)
    return path.lstat().st_size if path.exists() else 0


def carry_out(scale: Scale, gigabytes: float, jobs: list[Job], text_bytes: int) -> None:
    """Run jobs in sequence; skip jobs that depend on a failed or skipped one."""
    pretokens = max((process.pretokens for process in scale.done if process.gigabytes == gigabytes), default=0)
    missing: list[Path] = []
    for job in jobs:
        number = sum(other.stage == job.stage for other in jobs)
        about = (gigabytes, job.stage, job.name, text_bytes)
        error = ""
        expected = scale.expected(job.stage, gigabytes)
        lacking = [path for path in missing if str(path) in job.command]
        if lacking:
            error = "left out: what it reads is"
        elif job.stage.removeprefix("build ") in scale.without:
            error = "left out: not asked for"
        elif expected > scale.longest:
            error = f"left out: about {expected:.0f} s"
        if error:
            missing += job.outputs
            scale.add(Process(*about, pretokens, number, 0, 0, 0, job.bound_mb, 0, error))
            continue
        for path in (job.log, *job.outputs):
            path.parent.mkdir(parents=True, exist_ok=True)
        measured = run([job.words()], 1, limit=2 * scale.longest)
        if measured.error:
            missing += job.outputs
        elif job.stage == "merge_counts":
            told = COUNTED.search(measured.messages)
            pretokens = int(told[1].replace(",", "")) if told else 0
        scale.add(
            Process(
                *about,
                pretokens,
                number,
                measured.processor,
                measured.wall,
                measured.peak_mib * 1.048576,
                job.bound_mb,
                sum(map(size_on_disk, job.outputs)),
                measured.error,
            )
        )


def one_size(scale: Scale, gigabytes: float, source: Path, marks: dict[int, dict[str, int]], tokens: int) -> None:
    """Run all stages on one size of text, in a temporary folder."""
    folder = source.parent / f"{gigabytes:g}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    text = marks[in_bytes(gigabytes)]
    cut(source, folder / f"{TEXT}.jsonl", text["end"])
    configuration = experiment(folder, tokens)
    for until in (FIRST, SCORE):
        jobs = [job for job in planned(folder, configuration, until) if "/evaluation/" not in job.log.as_posix()]
        carry_out(scale, gigabytes, jobs, text["text_bytes"])
    pretokens = folder / "scale" / "pretokens" / TEXT  # The evaluation split equals the tokenizer split.
    (pretokens / "evaluation").mkdir(parents=True)
    os.link(pretokens / "tokenizer" / "gpt2.parquet", pretokens / "evaluation" / "gpt2.parquet")
    then = [
        job
        for job in planned(folder, configuration, THEN)
        if job.stage != "measure" or job.name.startswith(f"{MEASURED}/")
    ]
    carry_out(scale, gigabytes, then, text["text_bytes"])
    shutil.rmtree(folder)


def tell(path: Path, arguments: argparse.Namespace, texts: dict[str, dict[str, int]], folder: Path) -> None:
    """Write the facts of the page: text, machine, and numbers of jobs for larger corpora."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"texts": {}}
    asked = [
        sys.executable,
        "-c",
        "import json; from benchmarks.speed.measure import machine; print(json.dumps(machine()))",
    ]
    machine = json.loads(subprocess.run(asked, check=True, capture_output=True, cwd=ROOT).stdout)
    (folder / f"{TEXT}.jsonl").write_text(json.dumps({"text": "any"}) + "\n", encoding="utf-8")
    about = {
        "about": arguments.about,
        "tokens": arguments.tokens,
        "machine": machine,
        "texts": known["texts"] | texts,
        "plans": {str(corpus.shards): numbers(folder, corpus, arguments.tokens) for corpus in CORPORA},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def in_bytes(gigabytes: float) -> int:
    return round(gigabytes * GIGABYTE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, help="folder of text")
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.25, 0.5, 1, 2])
    parser.add_argument("--about", default="that of a folder of files.", help="description of the text, for the page")
    parser.add_argument("--tokens", type=int, default=32_768, help="size of each vocabulary")
    parser.add_argument("--without", nargs="+", default=[], metavar="CONSTRUCTION", help="constructions to skip")
    parser.add_argument("--longest", type=float, default=1200, help="maximum expected seconds of a job")
    parser.add_argument("--folder", type=Path, default=ROOT / "build", help="folder of scratch files")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "docs" / "measured", help="folder of scale.md and performance/"
    )
    arguments = parser.parse_args()
    table = arguments.results / "performance" / "scale.csv"
    known = {process.gigabytes for process in read(table)}
    sizes = sorted({START, *arguments.gigabytes} - ({START} & known))
    folder = arguments.folder.absolute() / SCALE
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "all.jsonl"
    drawn = [sys.executable, "-m", "benchmarks.scale.text", str(arguments.text), str(source), "--gigabytes"]
    marked = subprocess.run([*drawn, *map(str, sizes)], check=True, capture_output=True, text=True).stdout
    marks = {mark["size"]: mark for mark in json.loads(marked)}
    if absent := [size for size in sizes if in_bytes(size) not in marks]:
        sys.exit(f"{arguments.text}: too little text for {absent[0]:g} GB; add text, or use a smaller size")
    scale = Scale(table, sizes, arguments.longest, arguments.without)
    for size in sizes:
        one_size(scale, size, source, marks, arguments.tokens)
    facts = arguments.results / "performance" / "scale.json"
    tell(facts, arguments, {f"{size:g}": marks[in_bytes(size)] for size in sizes}, folder)
    shutil.rmtree(folder)
    subprocess.run([sys.executable, "-m", "benchmarks.scale.page", str(arguments.results)], check=True)


if __name__ == "__main__":
    main()
