"""Measure plans and jobs of the workflow, and write docs/measured/performance/everyday.json.

    python -m benchmarks.everyday.run build/everyday

A plan is ``snakemake -n`` in a process of its own. The share of Tokbench is the part of a second plan, under a
profiler, that is spent in Tokbench's functions and in all that they call. Jobs are those of the demo, one at a time.
Times are processor time. ``python -m benchmarks.speed.page docs/measured`` writes the page.
"""

import argparse
import json
import os
import pstats
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
WIDTHS = 22, 222, 1000
"""Variants of the wide experiments, each at three sizes with three language models."""
UNDER_PROFILER = """\
import cProfile, sys
from snakemake.cli import main
profiler = cProfile.Profile()
try:
    profiler.runcall(main, sys.argv[2:])
except SystemExit:
    pass
profiler.dump_stats(sys.argv[1])
"""
TOTAL = re.compile(r"^total +([\d,]+)$", re.MULTILINE)
Row = dict[str, Any]


def plan_options(folder: Path, configuration: Path) -> list[str]:
    """Return the arguments of Snakemake for the plan of an experiment that has made nothing yet."""
    return ["-n", "--cores", "1", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder),
            "--configfile", str(configuration)]  # fmt: skip


def measure_plan(name: str, folder: Path, configuration: Path) -> Row:
    """Return jobs, seconds of processor time, peak memory and the share of Tokbench's functions of a plan."""
    options = plan_options(folder, configuration)
    with (folder / "plan.txt").open("w") as out:
        process = subprocess.Popen(["snakemake", *options], stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    printed = (folder / "plan.txt").read_text()
    if process.returncode:
        raise SystemExit(f"{name}: {printed[-2000:]}")
    counted = TOTAL.findall(printed)
    profile = folder / "profile"
    command = [sys.executable, "-c", UNDER_PROFILER, str(profile), *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, check=True)
    return {
        "experiment": name,
        "jobs": int(counted[-1].replace(",", "")) if counted else 0,
        "seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss * 1024 / 1e6),
        "share": round(share_of_ours(profile), 3),
    }


def share_of_ours(profile: Path) -> float:
    """Return the share of a profile that is spent in Tokbench's functions and in all that they call."""

    def is_ours(function: tuple[str, int, str]) -> bool:
        return function[0].startswith(str(ROOT / "src")) or function[0].endswith((".smk", "Snakefile"))

    profiled: Any = pstats.Stats(str(profile))
    entered = 0.0
    for function, (_, _, _, _, callers) in profiled.stats.items():
        if is_ours(function):
            entered += sum(times[3] for caller, times in callers.items() if not is_ours(caller))
    return float(entered / profiled.total_tt)


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
        program = Path(row["program"][0]).name
        by_command[row["program"][1] if program in ("tokbench", "__main__.py") else program].append(row)
    return [
        {
            "command": name,
            "jobs": len(rows),
            "start": statistics.fmean(row["start"] + row["imports"] for row in rows),
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
