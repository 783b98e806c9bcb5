"""An experiment of a thousand variants to its end, with stand-ins for training and evaluation: see ``stand_in``.

The plan, every other job, tables and page are real. The cost of the width is printed: wall time, and
processor time and peak memory of Snakemake and its jobs.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.workflow.checkout import Checkout, environment_of
from tokbench.workflow.job_states import read_plan

WIDTH = int(os.environ.get("TOKBENCH_WIDE", "0"))
SIZES = (512, 1024, 2048)
MODELS = ("small", "middle", "large")
SCHEMES = ("gpt2", "first_space", "space_digit")
CONSTRUCTIONS = ("bpe", "wordpiece", "picky_bpe", "pathpiece")
LARGEST_MB = 4000
"""Upper limit on memory: that of the rules of the last stages."""

pytestmark = pytest.mark.skipif(not WIDTH, reason="make test-wide runs it")


def variant(number: int) -> dict[str, Any]:
    """One of as many as are wanted: no two are made alike."""
    level, kind = divmod(number, len(CONSTRUCTIONS))
    method = CONSTRUCTIONS[kind]
    level, scheme = divmod(level, len(SCHEMES))
    options: dict[str, Any] = {"method": method, "max_token_bytes": 6 + level}
    if method == "picky_bpe":
        options = {"method": method, "threshold": round(0.5 + level / 1000, 3)}
    elif method == "pathpiece":
        more, length = divmod(level, 27)  # its tokens have 32 bytes at the most
        options |= {"max_token_bytes": 6 + length, "initial": "ngram", "initial_size": 8192 - more}
    return {"pretokenization": SCHEMES[scheme], "construction": options}


def experiment(width: int) -> dict[str, Any]:
    variants = {f"v{number:04}": variant(number) for number in range(width)}
    return {
        "name": "wide",
        "seed": 0,
        "corpora": {
            "pydoc": {
                "source": "embedded",
                "shards": 2,
                "splits": {"byte_lm": 0.1, "tokenizer": 0.2, "evaluation": 0.02, "pretraining": 0.05},
            }
        },
        "variants": variants,
        "sizes": list(SIZES),
        "models": {name: {"preset": "tiny", "batches": 10 + n} for n, name in enumerate(MODELS)},
        "tasks": {"tasks": ["continuation", "last_word"], "questions": 10, "fewshot_pool": 1},
        "suites": {"few": {"tasks": ["continuation", "last_word"], "num_fewshot": 0}},
        "runs": [{"models": list(MODELS), "variants": list(variants), "sizes": list(SIZES), "suites": ["few"]}],
        "report": {"baseline": "v0000"},
    }


def run(folder: Path, *arguments: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Run Snakemake to its end; what it took by itself, without its jobs, and what they took."""
    told = folder.parent / "told.txt"
    began = time.monotonic()
    with told.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=folder,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, told.read_text(errors="replace")[-4000:]
    return {
        "wall_s": time.monotonic() - began,
        "processor_s": used.ru_utime + used.ru_stime,
        "largest_mb": used.ru_maxrss / 1000,
    }


def test_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    folder.mkdir()
    Checkout(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(experiment(WIDTH), sort_keys=False))
    environment = environment_of(folder)
    environment["PYTHONPATH"] += f":{Path(__file__).with_name('stand_in')}"
    planned = run(folder, "-n", "--quiet", environment=environment)
    made = run(folder, "--cores", "2", environment=environment)
    results = folder / "results" / "wide"
    for table, key in (("intrinsic", ["variant", "size"]), ("accuracy", ["model", "variant", "size"])):
        frame = pl.read_parquet(results / "tables" / f"{table}.parquet").select(key).unique()
        assert frame.height == WIDTH * len(SIZES) * (len(MODELS) if "model" in key else 1)
    assert (results / "report.html").stat().st_size < 20_000_000
    print(json.dumps({"variants": WIDTH, "jobs": len(read_plan(results).jobs), "plan": planned, "run": made}, indent=1))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000 < LARGEST_MB
