"""The profile on a real SLURM: `make test-slurm` runs these, as root and with SLURM's packages, nothing else does."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slurm.cluster import Cluster, cluster, missing

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("small.yaml")
UNTOLD = ("manifest.json", ".snakemake_timestamp")
"""Files that tell the time."""
LIMITS = ("--cores", "2", "--resources", "mem_mb=5000")
"""What the profile has for a cluster of larger nodes, cut down to these."""

pytestmark = pytest.mark.skipif(
    "TOKBENCH_SLURM" not in os.environ or bool(missing()), reason=missing() or "make test-slurm runs it"
)


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    with TemporaryDirectory(prefix="slurm") as folder, cluster(Path(folder), nodes=2, memory=6000) as running:
        yield running


def snakemake(results: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", str(results / "small" / "statistics"), *arguments]
    configured = ["--configfile", str(CONFIGURATION), "--config", f"results={results}"]
    done = subprocess.run([*command, *configured], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """The files that stay, those that tell the time left out."""
    parts = ("corpus", "pretokens", "tokenizers", "intrinsic", "tables", "statistics")
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for part in parts
        for file in sorted((folder / part).rglob("*"))
        if file.is_file() and file.name not in UNTOLD and not re.search(r"/\d{4}\.parquet$", str(file))
    }


def test_a_run_is_the_local_one_and_tells_of_its_jobs(slurm: Cluster, tmp_path: Path) -> None:
    logs = ("--slurm-logdir", str(tmp_path / "logs"))
    printed = snakemake(tmp_path / "there", "--profile", "profiles/slurm", *logs, *LIMITS)
    snakemake(tmp_path / "here", "--cores", "2")
    here, there = contents(tmp_path / "here" / "small"), contents(tmp_path / "there" / "small")
    assert len(here) > 20
    assert there == here

    for line in ("start  prepare corpus manual", "start  build bpe at 400", "done   measure unigram at 400"):
        assert line in printed
    ended = slurm.ended()
    assert {record["JobState"] for record in ended} == {"COMPLETED"}
    assert len(ended) == 5  # prepare, counting, building, tabulate, analyse
    asked = [dict(one.split("=") for one in record["Tres"].split(",")) for record in ended]
    assert max(int(one["cpu"]) for one in asked) <= 2
    assert max(int(one["mem"].removesuffix("M")) for one in asked) == 5000
