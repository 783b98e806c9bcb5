"""Measure plans and jobs of the workflow, and write docs/measured/performance/everyday.json.

    python -m benchmarks.everyday.run build/everyday

A plan is ``snakemake -n`` in a process of its own, first with an empty cache of the user and then again. The share of
Tokbench is the part of a third plan in which the innermost function of Tokbench and Snakemake on the stack is
Tokbench's, by samples of every millisecond. Jobs are those of the demo, one at a time. Times are processor time.
``python -m benchmarks.speed.page docs/measured`` writes the page.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.speed.measure import ROOT, machine
from tests.wide.test_wide import experiment

RESULTS = ROOT / "docs" / "measured" / "performance" / "everyday.json"
CLOCK = Path(__file__).with_name("clock")
WIDTHS = 22, 222
"""Variants of the wide experiments, each at three sizes with three language models."""
SAMPLER = """\
import collections, json, signal, sys
from snakemake.cli import main

OURS, SNAKEMAKE = sys.argv[1], "/snakemake"
samples = collections.Counter()


def sample(number, frame):
    while frame:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            samples["ours"] += 1
            return
        if SNAKEMAKE in name:
            break
        frame = frame.f_back
    samples["other"] += 1


signal.signal(signal.SIGPROF, sample)
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
try:
    main(sys.argv[3:])
except SystemExit:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
open(sys.argv[2], "w").write(json.dumps(samples))
"""
"""Program that plans, and every millisecond of processor time notes whose function runs: the innermost of Tokbench and
Snakemake on the stack."""
TOTAL = re.compile(r"^total +([\d,]+)$", re.MULTILINE)
Row = dict[str, Any]


def plan_options(folder: Path, configuration: Path) -> list[str]:
    """Return the arguments of Snakemake for the plan of an experiment that has made nothing yet."""
    return ["-n", "--cores", "1", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder),
            "--configfile", str(configuration)]  # fmt: skip


def measure_plan(name: str, folder: Path, configuration: Path) -> Row:
    """Return jobs, seconds of processor time, peak memory and the share of Tokbench's functions of a plan."""
    options = plan_options(folder, configuration)
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    usages = []
    for _ in range(2):
        with (folder / "plan.txt").open("w") as out:
            process = subprocess.Popen(
                ["snakemake", *options], stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=environment
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed = (folder / "plan.txt").read_text()
        if process.returncode:
            raise SystemExit(f"{name}: {printed[-2000:]}")
        usages.append(usage)
    counted = TOTAL.findall(printed)
    samples = folder / "samples.json"
    command = [sys.executable, "-c", SAMPLER, f"{ROOT / 'src'}/", str(samples), *options]
    quiet = subprocess.DEVNULL
    subprocess.run(command, stdout=quiet, stderr=quiet, cwd=folder, env=environment, check=True)
    noted = json.loads(samples.read_text())
    first, again = (round(usage.ru_utime + usage.ru_stime, 2) for usage in usages)
    return {
        "experiment": name,
        "jobs": int(counted[-1].replace(",", "")) if counted else 0,
        "first": first,
        "again": again,
        "peak_mb": round(max(usage.ru_maxrss for usage in usages) * 1024 / 1e6),
        "share": round(noted["ours"] / sum(noted.values()), 3),
    }


def measure_jobs(folder: Path) -> list[Row]:
    """Run the demo, one job at a time, and return the processor time of its commands and of Snakemake."""
    clocks = folder / "clocks"
    clocks.mkdir()
    environment = os.environ | {"PYTHONPATH": str(CLOCK), "TOKBENCH_CLOCK": str(clocks)}
    command = ["snakemake", "--cores", "1", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    subprocess.run([*command, "--configfile", str(ROOT / "config.yaml")], env=environment, cwd=folder, check=True)
    by_command: defaultdict[str, list[Row]] = defaultdict(list)
    for path in clocks.glob("*.json"):
        row = json.loads(path.read_text())
        by_command[row["program"]].append(row)
    return [
        {
            "command": name,
            "jobs": len(rows),
            "start": statistics.fmean(row["start"] + row["imports"] for row in rows),
            "own": statistics.fmean(row["own_imports"] for row in rows),
            "work": statistics.fmean(row["total"] - row["start"] - row["imports"] for row in rows),
        }
        for name, rows in sorted(by_command.items())
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of scratch files, which is emptied")
    parser.add_argument("--paths", nargs="*", default=[], metavar="NAME=FILE", help="more experiments to plan")
    folder: Path = (options := parser.parse_args(arguments)).folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    configurations = {"demo": ROOT / "config.yaml"}
    configurations |= {name: Path(file) for name, _, file in (path.partition("=") for path in options.paths)}
    # Plans of the demo and of others, and of wide experiments.
    plans = []
    folder.mkdir(parents=True)
    for width in WIDTHS:
        configurations[f"{width:,} variants"] = folder / f"{width}.yaml"
        configurations[f"{width:,} variants"].write_text(yaml.safe_dump(experiment(width)))
    for number, (name, configuration) in enumerate(configurations.items()):
        (folder / f"plan-{number}").mkdir()
        plans.append(measure_plan(name, folder / f"plan-{number}", configuration.absolute()))
        print(plans[-1], flush=True)
    # Jobs of the demo.
    (folder / "demo").mkdir()
    jobs = measure_jobs(folder / "demo")
    RESULTS.write_text(json.dumps({**machine(), "plans": plans, "jobs": jobs}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
