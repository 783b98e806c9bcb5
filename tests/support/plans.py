"""Job plans written by hand, and a small experiment whose jobs do no work."""

import os
import socket
from pathlib import Path
from typing import Any

from tokbench.status.plan import Job, Plan, Run

PATIENCE = 120.0
EXPERIMENT = """\
name: small
sizes: [300]
corpora: {text: {source: {type: text, path: text.txt}, shards: 2}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  unigram: {pretokenization: gpt2, construction: unigram}
"""
BENCHMARK = "s\th:m:s\tmax_rss\tcpu_time\n{}\t0:00:00\t1.0\t{}\n"


def plan_of(folder: Path, *jobs: Job, marks: str | None = None, **told: Any) -> Plan:
    values: dict[str, Any] = {
        "started": "2026-01-02T03:04:05+00:00",
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "directory": str(folder),
        "folder": "results/x",
        "command": "snakemake --cores 2",
        "log": None,
        "marks": marks,
        "slurm": (),
    }
    stages = tuple(dict.fromkeys(job.stage for job in jobs))
    (folder / "results" / "x").mkdir(parents=True, exist_ok=True)
    return Plan(folder / "results" / "x", Run(**values | told), stages, jobs)


def job(name: str, **more: Any) -> Job:
    told = {"planned": True, "stood": None, "into": None} | more
    return Job(
        "make",
        {"name": name},
        (f"results/x/made/{name}",),
        f"results/x/logs/make/{name}.log",
        f"results/x/benchmarks/make/{name}.tsv",
        **told,
    )


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
