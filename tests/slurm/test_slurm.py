"""The profile on a real SLURM: `make test-slurm` runs these, as root and with SLURM's packages, nothing else does.

All runs go on at once, since most of a job's time on a cluster is spent waiting for it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import ROOT, Cluster, Run, job_of, missing, said_by, started

CONFIGURATION = Path(__file__).with_name("small.yaml" if os.environ.get("TOKBENCH_SLURM") == "small" else "models.yaml")
TROUBLE = Path(__file__).with_name("trouble.smk")
PROFILE = ("--profile", str(ROOT / "profiles" / "slurm"))
UNTOLD = ("manifest.json", ".snakemake_timestamp", ".tokbench.json", "curve.csv")
"""Files that tell the time."""
LIMITS = ("--cores", "2", "--resources", "mem_mb=8000", "--slurm-init-seconds-before-status-checks", "2")
LIMITS += ("--max-status-checks-per-second", "1")
"""Settings of the profile, reduced to these nodes and times."""

pytestmark = pytest.mark.skipif(
    "TOKBENCH_SLURM" not in os.environ or bool(missing()), reason=missing() or "make test-slurm runs it"
)


def small(results: Path) -> tuple[str, ...]:
    """Arguments of the run of the small experiment whose results are to lie there."""
    target = str(results / "small" / "statistics")
    return (target, "--configfile", str(CONFIGURATION), "--config", f"results={results}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def remote(slurm: Cluster, folder: Path) -> Iterator[Run]:
    """The small experiment on the cluster."""
    with started(folder / "remote.txt", *on_cluster(folder)) as run:
        yield run


@pytest.fixture(scope="module")
def local(folder: Path) -> Iterator[Run]:
    """The same on this machine, without a lock: the other has it."""
    with started(folder / "local.txt", *small(folder / "here"), "--cores", "1", "--nolock") as run:
        yield run


@pytest.fixture(scope="module")
def trouble(slurm: Cluster, folder: Path) -> Iterator[Run]:
    """Jobs that end otherwise than they should, tried again up to twice."""
    (folder / "trouble").mkdir()
    arguments = ("--snakefile", str(TROUBLE), "--workflow-profile", str(ROOT / "profiles" / "default"), *PROFILE)
    limits = ("--resources", "mem_mb=1000000", "--slurm-logdir", str(folder / "trouble" / "logs"))
    with started(
        folder / "trouble.txt", *arguments, *LIMITS[:2], *limits, *LIMITS[4:], folder=folder / "trouble"
    ) as run:
        yield run


def on_cluster(folder: Path) -> tuple[str, ...]:
    return (*small(folder / "there"), *PROFILE, "--slurm-logdir", str(folder / "logs"), *LIMITS)


def contents(folder: Path) -> dict[str, bytes]:
    """The files that stay, those that tell the time left out."""
    parts = (
        "corpus",
        "pretokens",
        "tokenizers",
        "token_counts",
        "models",
        "intrinsic",
        "embeddings",
        "tables",
        "statistics",
    )
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for part in parts
        for file in sorted((folder / part).rglob("*"))
        if file.is_file() and file.name not in UNTOLD and not re.search(r"/\d{4}\.parquet$", str(file))
    }


def ended_jobs(printed: str) -> set[str]:
    """The jobs that a run reports as done."""
    return set(re.findall(r"^[\d:]+  done   (.+) \(\d+ s; \d+ of \d+\)$", printed, re.MULTILINE))


def test_cancelled_and_waiting_jobs_are_reported(trouble: Run, remote: Run, local: Run, folder: Path) -> None:
    """One is cancelled, and one that would wait for ever is let go."""
    trouble.until((folder / "trouble" / "started").exists)
    said_by("scancel", *job_of("cancelled"))
    trouble.until(lambda: "PartitionTimeLimit" in trouble.printed())
    said_by("scontrol", "update", f"jobid={job_of('long')[0]}", "timelimit=5")


def test_a_killed_run_is_taken_up_as_the_manual_says(slurm: Cluster, remote: Run, local: Run, folder: Path) -> None:
    """And leaves what a run on this machine does, on however many nodes, and tells of its jobs."""

    def jobs(states: str) -> list[str]:
        """Numbers of the run's jobs in these states."""
        return said_by(
            "squeue", "--noheader", "--format=%A", f"--states={states}", f"--name={remote.identifier()}"
        ).split()

    def suspended() -> list[str]:
        """The run's jobs that cannot end before they are cancelled, for they are stopped."""
        subprocess.run(["scontrol", "suspend", ",".join(jobs("running"))], capture_output=True)
        return jobs("suspended")

    remote.until(lambda: "start  build bpe at 400" in remote.printed() and suspended())
    remote.process.kill()
    remote.process.wait()
    said = said_by(sys.executable, "-m", "tokbench", "cancel", str(folder / "there" / "small"))
    assert f"of SLURM run {remote.identifier()}." in said
    assert not jobs("running,suspended,completing")
    used = slurm.prefer_other_nodes(remote)
    with started(folder / "again.txt", *on_cluster(folder)) as again:
        printed = again.ended(0)
    local.ended(0)
    here, there = contents(folder / "here" / "small"), contents(folder / "there" / "small")
    assert len(here) > 20
    assert there == here

    # A job that ends between the kill and the cancellation is done, and no run says so.
    done, again_done = ended_jobs(remote.printed()), ended_jobs(printed)
    in_progress = set(re.findall(r"^[\d:]+  start  (.+)$", remote.printed(), re.MULTILINE)) - done
    [count] = set(re.findall(r"; \d+ of (\d+)\)$", remote.printed(), re.MULTILINE))
    assert len(done | in_progress | again_done) == int(count)
    assert "prepare corpus manual" in done - again_done
    assert "compute the statistics" in again_done
    first, second = slurm.ended(remote), slurm.ended(again)
    assert "CANCELLED" in {one["JobState"] for one in first}
    assert {one["JobState"] for one in second} == {"COMPLETED"}
    assert len(used | {one["NodeList"] for one in second}) > 1
    asked = [dict(one.split("=") for one in record["Tres"].split(",")) for record in (*first, *second)]
    assert max(int(one["cpu"]) for one in asked) <= 2
    assert max(int(one["mem"].removesuffix("M")) for one in asked) <= 8000


def test_reasons_of_the_cluster_are_one_line_each(slurm: Cluster, trouble: Run, folder: Path) -> None:
    printed = trouble.ended(1)
    told = [re.sub(r" \(job \d+\)", "", line[10:]) for line in printed.splitlines() if line[10:15] == "slurm"]
    again = "is tried again (mem_mb {}, cores 1, runtime {}, partition cpu)"
    assert sorted(told) == sorted(
        [
            "slurm  ask for more than a node has was refused: Memory specification can not be satisfied; Requested node"
            " configuration is not available (mem_mb 900000, cores 1, runtime 60, partition cpu); lower cores, or"
            " mem_mb under resources, in the profile: no job may request more than a node has",
            "slurm  ask for two weeks waits: PartitionTimeLimit: it will never start: its runtime is more than its"
            " partition allows; give the rule less runtime, by set-resources in the profile, or a partition that allows"
            " it",
            "slurm  be cancelled once was cancelled",
            f"slurm  be cancelled once {again.format(500, 5)}",
            "slurm  hold 600 MB was killed for memory, it had mem_mb 500",
            f"slurm  hold 600 MB {again.format(1000, 10)}",
            "slurm  take more than a minute was killed for time, it had runtime 1",
            f"slurm  take more than a minute {again.format(500, 2)}",
        ]
    )
    assert all((folder / "trouble" / made).exists() for made in ("greedy", "slow", "long", "cancelled"))

    of_run = slurm.ended(trouble)
    ends = {(re.search(r"mem=(\w+)", one["Tres"]).group(1), one["TimeLimit"], one["JobState"]) for one in of_run}  # type: ignore[union-attr]
    assert {("500M", "5", "FAILED"), ("1000M", "10", "COMPLETED")} <= ends
    assert {("500M", "1", "TIMEOUT"), ("500M", "2", "COMPLETED")} <= ends
