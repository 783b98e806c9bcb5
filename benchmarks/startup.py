"""Benchmark of the start-up time of commands on a small input, compared with Python's.

    python benchmarks/startup.py [ROUNDS]

Each line has the minimum over rounds, in seconds and as a multiple of ``python -c pass``. All commands run in each
round, so that other load affects them equally. A first round compiles the modules, as an installation does.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

PYTHON = (sys.executable, "-c")
OURS = (sys.executable, "-m", "tokbench")
TEXT = str(Path(__file__).parents[1] / "README.md")
LIBRARIES = {
    "bare Python": "pass",
    "click": "import click",
    "click, numpy, pydantic": "import click, numpy\nfrom pydantic import BaseModel\nclass Model(BaseModel): a: int = 0",
}
COMMANDS = {
    "--help": "--help",
    "a mistake": "build --sise",
    "methods bpe": "methods bpe",
    "count": f"count --scheme gpt2 {TEXT} -o counts.parquet",
    "build bpe": "build bpe --counts counts.parquet --size 512 -o bpe",
    "build unigram": "build unigram --counts counts.parquet --size 512 -o unigram",
    "encode": f"encode bpe {TEXT} -o ids",
    "decode": "decode bpe ids -o text",
    "measure": "measure bpe --counts counts.parquet -o measured.json",
    "compare": f"compare bpe unigram {TEXT}",
    "merge_counts": "merge_counts counts.parquet counts.parquet -o merged.parquet",
    "schema": "schema",
}


def processor_time(command: Sequence[str], folder: str) -> float:
    """Return user plus system time of a process in seconds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_round(calls: Iterable[Sequence[str]], folder: str) -> list[float]:
    """Return the processor time of each command; first deletes output of the previous round."""
    for name in ("ids", "text"):
        Path(folder, name).unlink(missing_ok=True)
    return [processor_time(call, folder) for call in calls]


def main(rounds: int = 5) -> None:
    """Print the table."""
    calls = {name: (*PYTHON, code) for name, code in LIBRARIES.items()}
    calls |= {name: (*OURS, *line.split()) for name, line in COMMANDS.items()}
    with tempfile.TemporaryDirectory() as folder:
        times = [one_round(calls.values(), folder) for _ in range(1 + rounds)][1:]
    least = dict(zip(calls, map(min, zip(*times, strict=True)), strict=True))
    for name, seconds in least.items():
        print(f"{name:24}{seconds:8.3f} s{seconds / least['bare Python']:8.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
