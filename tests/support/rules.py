"""Workflow rules with their directives, hand-written job plans, and a small experiment whose jobs do no work.

Also the JSON keys in docs/programs.md, and Snakemake with its SLURM executor without waiting times.
"""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.workflow.checkout import ROOT
from tokbench.commands.declaration import declarations
from tokbench.workflow import fingerprint
from tokbench.workflow.fingerprint import EFFECTS, Name
from tokbench.workflow.job_states import Job, Plan, PlannedRun

COMMAND_OF = {
    "build_initial": "build",
    "build_initial_recipe": "build",
    "count_split": "count",
    "evaluate_checkpoint": "evaluate",
    "merge_part": "merge_counts",
    "measure_documents": "measure",
    "measure_domains": "measure",
    "measure_on": "measure",
    "ngram_bits_on": "ngram_bits",
}
"""Commands of rules with another name: initial vocabularies, checkpoints, shards of a split, partial merges, and
measurements on another corpus or by domain."""
RULE = re.compile(r"^(?:rule|use rule (\w+) as) (\w+)(?: with)?:\n((?:(?: .*)?\n)+)", re.MULTILINE)
"""A rule, or one that differs from another in some directives."""
DIRECTIVE = re.compile(r"^    (\w+):(.*(?:\n(?:        .*)?)*)", re.MULTILINE)


def rules() -> dict[str, tuple[Path, dict[str, str]]]:
    """Return the path and the directives, in order, of every rule."""
    found: dict[str, tuple[Path, dict[str, str]]] = {}
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for base, name, body in RULE.findall(path.read_text() + "\n"):
            directives = dict(DIRECTIVE.findall(body))
            if base:
                inherited = found[base][1]
                own = re.findall(r"^ {8}(\w+)=", directives["params"], re.MULTILINE)
                others = re.sub(rf"^ {{8}}(?:{'|'.join(own)})=.*\n", "", inherited["params"], flags=re.MULTILINE)
                directives = {**inherited, **directives, "params": directives["params"] + others}
            found[name] = path.parent, directives
    return found


RULES = rules()


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


def plan_of(folder: Path, *jobs: Job, **told: Any) -> Plan:
    """Return the plan of a run that began at time 1 after the epoch, with some values replaced."""
    values: dict[str, Any] = {
        "started": "2026-01-02T03:04:05+00:00",
        "began": 1_000_000_000,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "directory": str(folder),
        "folder": "results/x",
        "command": "snakemake --cores 2",
        "log": None,
        "slurm": (),
    }
    (folder / "results" / "x").mkdir(parents=True, exist_ok=True)
    return Plan(folder / "results" / "x", PlannedRun(**values | told), jobs)


def job(name: str, **more: Any) -> Job:
    return Job(
        "make",
        {"name": name},
        (f"results/x/made/{name}",),
        f"results/x/logs/make/{name}.log",
        f"results/x/benchmarks/make/{name}.tsv",
        **{"planned": True, **more},
    )


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


PAGE = Path(__file__).parents[2] / "docs" / "programs.md"


def documented(section: str) -> set[str]:
    """Return the keys in the table of a section, such as ``parts[].lines[].name``."""
    text = PAGE.read_text(encoding="utf-8")
    [body] = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(f"`{section}`")]
    return set(re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE))


def keys_of(value: Any, within: str = "") -> Iterator[str]:
    """Yield the paths of all keys in a value; ``[]`` marks list elements."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield f"{within}{key}"
            yield from keys_of(one, f"{within}{key}.")
    elif isinstance(value, list):
        for one in value:
            yield from keys_of(one, f"{within[:-1]}[].")


HOME = Path(__file__).parents[2]

AT_ONCE = """
import asyncio
from snakemake.cli import main
from snakemake_executor_plugin_slurm import common_settings
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
common_settings.init_seconds_before_status_checks = 0
RemoteExecutor.sleep = lambda self: asyncio.sleep(0.1)
main()
"""
"""Program: Snakemake that polls jobs at once and frequently, instead of after 40 seconds and longer intervals."""


def snakemake(folder: Path, path: str, options: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a folder, with its SLURM executor and the programs on a search path."""
    return subprocess.run(
        [sys.executable, "-c", AT_ONCE, "--workflow-profile", HOME / "profiles" / "default", *options.split()],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(HOME / "src")},
        capture_output=True,
        text=True,
        timeout=240,
    )


def called(command: str) -> set[Name]:
    """Return the names from stages that a command uses, including through other commands' functions."""
    module = f"tokbench.commands.{declarations()[command].module}"
    pending, seen = [Name(module, f"{command}_command")], set[Name]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += fingerprint._code_and_uses(*name)[1] if name.module.startswith("tokbench.commands") else []
    return {name for name in seen if not fingerprint.is_plumbing(name.module) and name.name != EFFECTS}
