"""Count instructions, cache misses and mispredicted branches of encoding with Cachegrind, and write
docs/measured/performance/misses.json.

    python -m benchmarks.speed.cache_misses build/speed --peers build/peers/bin/python

The folder is one that :mod:`benchmarks.speed.texts` wrote. Processors of virtual machines often have no counters, so
Valgrind simulates a first-level cache of 48 KiB, a second level of 1 MiB, without prefetching, and a simple predictor
of branches. Each number is the difference of two processes, of which one encodes the same text once more: the first
time with an empty cache of pre-tokens (cold), the second time with a filled one (warm). Before, both call the function
on :func:`benchmarks.speed.worker.before_clock`. Hashes of strings do not change between processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import ROOT

RESULTS = ROOT / "docs" / "measured" / "performance" / "misses.json"
BYTES = 1_000_000
"""Bytes of a text, up to the next line break."""
TASKS = (("cl100k", "english"), ("cl100k", "languages"), ("o200k", "english"), ("own", "english"))
LIBRARIES = ("tokbench", "gigatoken")
SIMULATED = ("--cache-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64", "--branch-sim=yes")
ENCODING = """\
import sys
from importlib import import_module
from pathlib import Path
from benchmarks.speed.worker import as_text, before_clock
module, tokenizer, text, size, calls = sys.argv[1:]
peer = import_module(f"benchmarks.speed.peers.{module}")
folder = Path(FOLDER)
loaded = peer.load(folder, tokenizer)
data = (folder / f"{text}_0.txt").read_bytes()
content = as_text(peer, data[: data.index(b"\\n", int(size))])
peer.encode(loaded, as_text(peer, before_clock()))
for _ in range(int(calls)):
    peer.encode(loaded, content)
print(len(content if isinstance(content, bytes) else content.encode()))
"""
EVENTS = ("Ir", "D1mr", "D1mw", "DLmr", "DLmw", "Bcm", "Bim")
"""Instructions; misses of reads and writes in the first and in the last level; mispredicted conditional and indirect
branches."""


def events(python: str, folder: Path, *arguments: str) -> tuple[dict[str, int], int]:
    """Return the events of a process, and the bytes of the text."""
    with tempfile.NamedTemporaryFile("r") as out:
        valgrind = ["valgrind", "--tool=cachegrind", *SIMULATED, f"--cachegrind-out-file={out.name}"]
        code = ENCODING.replace("FOLDER", repr(str(folder)))
        run = subprocess.run(
            [*valgrind, python, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        if run.returncode:
            raise SystemExit(f"{arguments}: {run.stderr[-2000:]}")
        lines = dict(line.split(":", 1) for line in out if line.startswith(("events:", "summary:")))
    counts = dict(zip(lines["events"].split(), map(int, lines["summary"].split()), strict=True))
    return {name: counts[name] for name in EVENTS}, int(run.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder that benchmarks.speed.texts wrote")
    parser.add_argument("--peers", required=True, help="interpreter of the environment that has the other libraries")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for tokenizer, text in TASKS:
        for library in LIBRARIES:
            python = sys.executable if library == "tokbench" else str(Path(options.peers).absolute())
            job = (library, tokenizer, text, str(BYTES))
            counted = [events(python, options.folder.absolute(), *job, str(calls)) for calls in range(3)]
            for measure, before, after in (("cold", 0, 1), ("warm", 1, 2)):
                size = counted[after][1]
                each = {name: (counted[after][0][name] - counted[before][0][name]) / size for name in EVENTS}
                rows.append({"tokenizer": tokenizer, "text": text, "library": library, "measure": measure, **each})
                print(rows[-1], flush=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
