"""Language models on several nodes of a real SLURM, as on one machine: `make test-slurm EXPERIMENT=nodes`."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slurm.cluster import ROOT, Cluster, missing, said_by, started
from tokbench.workflow.environments import python_of_language_models

CONFIGURATION = Path(__file__).with_name("nodes.yaml")
PROFILE = ("--profile", str(ROOT / "profiles" / "slurm"), "--slurm-init-seconds-before-status-checks", "2")
TRAINING = ("--cores", "2")
PACKING = ("--cores", "2", "--resources", "mem_mb=8000")
PACKED = ("encoded", "gathered", "slices", "packed", "token_counts")

pytestmark = pytest.mark.skipif(
    os.environ.get("TOKBENCH_SLURM") != "nodes" or bool(missing()), reason=missing() or "make test-slurm runs it"
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer and the packed sequences of every model, made on this machine."""
    folder = tmp_path_factory.mktemp("nodes")
    targets = [Path("packed", model, "bpe", "400") for model in ("wide", "divided", "sliced")]
    snakemake(folder, targets, "--cores", "1")
    return folder / "nodes"


def called(results: Path, targets: list[Path], *arguments: str) -> list[str]:
    made = [str(results / "nodes" / target) for target in targets]
    beside = ["--nolock", "--notemp", "--config", f"results={results}"]
    return [*made, "--configfile", str(CONFIGURATION), *arguments, *beside]


def snakemake(results: Path, targets: list[Path], *arguments: str) -> None:
    command = [sys.executable, "-m", "snakemake", *called(results, targets, *arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def on_cluster(results: Path, made: Path, *arguments: str) -> list[str]:
    logs = ("--slurm-logdir", str(results / "slurm"))
    return called(results.parent, [made], *PROFILE, *logs, *arguments)


def test_a_model_is_trained_on_the_nodes_that_its_recipe_names(slurm: Cluster, results: Path) -> None:
    """Two processes on two nodes, to the curve of one process."""
    model = Path("models", "wide", "bpe", "400")
    with started(results / "wide.txt", *on_cluster(results, model, *TRAINING)) as run:
        printed = run.ended(0)
    assert "pretrain wide with bpe at 400" in printed
    assert [(job["JobState"], job["NodeCnt"]) for job in slurm.ended(run)] == [("COMPLETED", "2")]
    as_alone(results, model)


def test_a_model_divided_over_nodes_goes_on_where_it_was_cancelled(slurm: Cluster, results: Path) -> None:
    """From a checkpoint in shards, to the curve of one process that holds the whole model."""
    model = Path("models", "divided", "bpe", "400")
    states = results / "checkpoints" / "pretrain" / "divided" / "bpe" / "400" / "states"
    with started(results / "divided.txt", *on_cluster(results, model, *TRAINING)) as run:
        run.until(lambda: any(states.glob("ba*.sharded")))
        said_by("scancel", f"--name={run.identifier()}")
        printed = run.ended(0)
    for event in ("was cancelled", "is tried again"):
        assert re.search(rf"slurm  pretrain divided with bpe at 400 \(job \d+\) {event}", printed)
    jobs = [(job["JobState"], job["NodeCnt"]) for job in slurm.ended(run)]
    assert jobs == [("CANCELLED", "2"), ("COMPLETED", "2")]
    log = (results / "logs" / "pretrain" / "divided" / "bpe" / "400.log").read_text()
    assert re.search(r"pretraining resumes after batch [1-5]\b", log), log
    as_alone(results, model)


def as_alone(results: Path, made: Path) -> None:
    """A model of two processes has the losses of one that a single process trains of the same sequences."""
    model, _, variant, size = results / made, *made.parts[1:]
    told = json.loads((model / "manifest.json").read_text())["settings"]
    assert (told["devices"], told["options"]["resources"]["nodes"]) == (2, 2)
    recipe = json.dumps({**told["options"], "resources": {}})
    call = ["pretrain", "--recipe", recipe, "--packed", results / "packed" / made.relative_to("models")]
    call += ["--tokenizer", results / "tokenizers" / variant / size, "-o", results / "alone" / made]
    subprocess.run([python_of_language_models(), "-m", "tokbench", *map(str, call)], check=True, cwd=ROOT)
    assert losses(model) == pytest.approx(losses(results / "alone" / made), abs=1e-5)


def losses(model: Path) -> list[float]:
    with (model / "curve.csv").open(newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def test_slices_are_packed_on_many_nodes_as_on_this_machine(slurm: Cluster, results: Path) -> None:
    """Shards, slices and sequences are the same bytes, and more than one node made them."""
    for part in PACKED:
        (results / part / "sliced").rename(results / f"{part}-here")
    with started(results / "sliced.txt", *on_cluster(results, Path("packed", "sliced", "bpe", "400"), *PACKING)) as run:
        run.until(lambda: "  done   " in run.printed())
        slurm.prefer_other_nodes(run)
        run.ended(0)
    jobs = slurm.ended(run)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert len({job["NodeList"] for job in jobs}) > 1
    assert len(jobs) == 2 + 1 + 2 + 1  # Sixteen shards are encoded by one job, the last by another.
    here, there = ({part: files(results / name.format(part)) for part in PACKED} for name in ("{}-here", "{}/sliced"))
    assert len(here["encoded"]) == 2
    assert {Path(file).parts[2] for file in here["slices"]} == {"0000", "0001"}
    assert there == here


def files(folder: Path) -> dict[str, bytes]:
    """All of a folder but what tells the time."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("manifest.json", ".snakemake_timestamp", ".tokbench.json")
    }
