"""Benchmark of Tokbench and other libraries on the same tasks; writes docs/measured/performance.md.

    python -m benchmarks.speed.run --text novels.jsonl.gz --words words_un.txt.gz counts_un.txt.gz --peers PYTHON

PYTHON is the interpreter of an environment with ``benchmarks/speed/requirements.txt``. The tables list missing
packages. ``--existing cl100k=cl100k_base.tiktoken`` also encodes with that tokenizer, ``--languages`` names the files
of a second text, and ``--quick`` uses 4 MB of text, smaller vocabularies and one round.

Every run is a separate process on as many processors as it has threads. Tokbench and a peer alternate for several
rounds, because the speed of a shared machine drifts. Each ratio is of two adjacent runs; the tables show the median.

``docs/measured/performance/runs.parquet`` has every run. Two times are measured: the work, by a clock within the
process, and the complete process from outside. :mod:`benchmarks.speed.tasks` defines the tasks.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.speed.measure import MOST_ROUNDS, ROOT, Bench
from benchmarks.speed.tasks import ALONE, COUNTING, ENCODING, GREEDTOK, LANGUAGES, TRAINING, Task, existing, growth

RESULTS = ROOT / "docs" / "measured"
SIZES = (8192, 16384, 32768, 65536)
QUICK_SIZES, QUICK_MEGABYTES = (8192, 16384), 4


def write_second_core(folder: Path, results: Path) -> None:
    """Run ``second_core.py`` on the texts and save its output for the page."""
    texts = [path for path in (folder / "text_1.txt", folder / f"{LANGUAGES}_text_1.txt") if path.exists()]
    command = [sys.executable, str(ROOT / "benchmarks" / "second_core.py"), *map(str, texts)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    how = "One thread against two, in turn, by `benchmarks/second_core.py`:"
    (results / "second_core.txt").write_text(f"The second core\n{how}\n{printed}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", required=True, help="text, JSON Lines or Parquet")
    parser.add_argument("--words", nargs=2, metavar=("WORDS", "COUNTS"), help="the UN corpus, as published")
    parser.add_argument("--languages", nargs="+", metavar="FILE", help="files of a multilingual text")
    parser.add_argument("--existing", nargs="+", metavar="NAME=FILE", help="rank files of cl100k, o200k or gpt2")
    parser.add_argument("--peers", help="interpreter of the environment of the peers")
    parser.add_argument("--quick", action="store_true", help="4 MB of the text, one round")
    parser.add_argument("--only", nargs="+", metavar="TASK", help="only these tasks, without second_core.py")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "benchmarks", help="folder of scratch files")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of performance.md and performance/")
    arguments = parser.parse_args()
    began = time.monotonic()
    folder, results = arguments.folder.absolute(), arguments.results / "performance"
    sizes = QUICK_SIZES if arguments.quick else SIZES
    size = sizes[0] if arguments.quick else Task.size
    prepared = [sys.executable, "-m", "benchmarks.speed.prepare", arguments.text, str(folder), "--size", str(size)]
    prepared += ["--sizes", *map(str, sizes)]
    if arguments.words:
        prepared += ["--words", *arguments.words]
    for option in ("languages", "existing"):
        if given := getattr(arguments, option):
            prepared += [f"--{option}", *given]
    if arguments.quick:
        prepared += ["--megabytes", str(QUICK_MEGABYTES)]
    subprocess.run(prepared, check=True)
    peers = arguments.peers and str(Path(arguments.peers).absolute())
    bench = Bench(folder, peers, 1 if arguments.quick else MOST_ROUNDS)
    threads = min(2, os.cpu_count() or 1)
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    beside = (COUNTING, *TRAINING, *ENCODING, *existing(facts), *GREEDTOK)
    for task in (*beside, *ALONE, *growth(size, sizes, threads)):
        task = replace(task, size=size) if task.size == Task.size and task.section != "growth" else task
        if (arguments.words or not task.key.endswith("_un")) and task.key in (arguments.only or (task.key,)):
            (bench.against_peers if task.peers else bench.alone)(task)
    bench.write(results / "runs.parquet")
    (results / "versions.json").write_text(json.dumps(bench.versions, indent=2) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "benchmarks.speed.limits", str(folder), str(results)], check=True)
    if not arguments.only:
        write_second_core(folder, results)
    subprocess.run([sys.executable, "-m", "benchmarks.speed.page", str(folder), str(arguments.results)], check=True)
    print(f"{arguments.results / 'performance.md'}, in {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
