"""Measure Tokbench and other libraries on the same tasks, and write docs/measured/performance.md.

    python -m benchmarks.speed.run build/speed --peers build/peers/bin/python

The folder is one that :mod:`benchmarks.speed.texts` wrote. PYTHON is the interpreter of an environment with
``benchmarks/speed/requirements.txt``. Each measurement is a process of its own, on as many processors as it has
threads. Libraries take turns, because the speed of a shared machine drifts: a ratio is that of two runs of one round.
``docs/measured/performance/runs.parquet`` has every measurement.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import ROOT, ROUNDS, Bench, machine, versions
from benchmarks.speed.tasks import TASKS

RESULTS = ROOT / "docs" / "measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder that benchmarks.speed.texts wrote")
    parser.add_argument("--peers", required=True, help="interpreter of the environment that has the other libraries")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each task (default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="KIND", help="only tasks of these kinds")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of performance.md and performance/")
    arguments = parser.parse_args()
    results = arguments.results / "performance"
    results.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {**machine(), "load": [round(os.getloadavg()[0], 1)]}
    began = time.monotonic()
    bench = Bench(arguments.folder.absolute(), str(Path(arguments.peers).absolute()), arguments.rounds)
    for task in TASKS:
        if task.kind in (arguments.only or (task.kind,)):
            bench.measure(task)
            about["load"].append(round(os.getloadavg()[0], 1))
            (arguments.folder / "rows.json").write_text(json.dumps(bench.rows), encoding="utf-8")
    about["minutes"] = round((time.monotonic() - began) / 60, 1)
    bench.write(results / "runs.parquet")
    shutil.copy(arguments.folder / "facts.json", results / "texts.json")
    for name, content in (("machine", about), ("versions", versions(bench.peers))):
        (results / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "benchmarks.speed.page", str(arguments.results)], check=True)


if __name__ == "__main__":
    main()
