"""A language model trained on two nodes of a real SLURM as one process does: `make test-slurm EXPERIMENT=models`."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slurm.cluster import cluster, missing

ROOT = Path(__file__).parents[2]
CONFIGURATION = Path(__file__).with_name("nodes.yaml")
PROFILE = ("--profile", str(ROOT / "profiles" / "slurm"), "--slurm-init-seconds-before-status-checks", "2")
MODEL = Path("nodes", "models", "wide", "bpe", "400")
PACKED = Path("nodes", "packed", "wide", "bpe", "400")

pytestmark = pytest.mark.skipif(
    os.environ.get("TOKBENCH_SLURM") != "models" or bool(missing()), reason=missing() or "make test-slurm runs it"
)


def snakemake(results: Path, made: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", str(results / made), "--configfile", str(CONFIGURATION), *arguments]
    told = ("--nolock", "--notemp", "--config", f"results={results}")
    done = subprocess.run([*command, *told], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_model_is_trained_on_the_nodes_that_its_recipe_names(tmp_path: Path) -> None:
    """Two processes on two nodes, to the curve of one process."""
    snakemake(tmp_path, PACKED, "--cores", "1")
    with TemporaryDirectory(prefix="slurm") as folder, cluster(Path(folder), nodes=2, memory=6000) as running:
        printed = snakemake(tmp_path, MODEL, *PROFILE, "--slurm-logdir", str(tmp_path / "logs"), "--cores", "2")
        jobs = running.ended()
    assert "pretrain wide with bpe at 400" in printed
    assert [(job["JobState"], job["NodeCnt"]) for job in jobs] == [("COMPLETED", "2")]
    model = tmp_path / MODEL
    told = json.loads((model / "manifest.json").read_text())["settings"]
    assert (told["devices"], told["options"]["resources"]["nodes"]) == (2, 2)
    recipe = json.dumps({**told["options"], "resources": {}})
    call = ["pretrain", "--recipe", recipe, "--packed", tmp_path / PACKED]
    call += ["--tokenizer", tmp_path / "nodes" / "tokenizers" / "bpe" / "400", "-o", tmp_path / "alone"]
    subprocess.run([sys.executable, "-m", "tokbench", *map(str, call)], check=True, cwd=ROOT)
    assert losses(model) == pytest.approx(losses(tmp_path / "alone"), abs=1e-5)


def losses(model: Path) -> list[float]:
    with (model / "curve.csv").open(newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]
