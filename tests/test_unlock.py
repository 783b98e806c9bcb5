"""What a killed run locked is unlocked by the next, where nothing of that run is at work; else a line says why not."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokbench.status.plan import Plan, Run, write_plan
from tokbench.workflow import unlock
from tokbench.workflow.lock import held_meanwhile
from tokbench.workflow.unlock import unlock_dead

FOLDER = "results/x"


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(unlock, "stays", [])
    Path(FOLDER).mkdir(parents=True)
    made = tmp_path / ".snakemake" / "locks" / "0.output.lock"
    made.parent.mkdir(parents=True)
    made.write_text(f"{FOLDER}/made/a\n")
    return made


def planned(host: str | None = None, slurm: tuple[str, ...] = ()) -> None:
    directory = os.getcwd()
    run = Run("2030-01-01T10:00:00", 7, host or socket.gethostname(), directory, FOLDER, "", None, None, slurm)
    write_plan(Plan(Path(FOLDER), run, (), ()))


def queue(folder: Path, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``squeue`` that prints this."""
    command = folder / "commands" / "squeue"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\n{answer}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.defpath}")


def test_a_dead_run_here(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planned()
    unlock_dead(FOLDER)
    assert not lock.exists()
    assert capsys.readouterr().err == (
        "tokbench: results/x: unlocked; process 7, started 2030-01-01T10:00:00, was killed, and what it finished is "
        "kept\n"
    )
    assert unlock.stays == []
    unlock_dead(FOLDER)
    assert capsys.readouterr().err == ""


def test_a_run_that_had_not_begun(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unlock_dead(FOLDER)
    assert not lock.exists()
    assert "unlocked; a run that had not begun was killed" in capsys.readouterr().err


def test_locks_of_others_stay(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock.write_text("results/y/made/a\n")
    unlock_dead(FOLDER)
    assert lock.exists()
    assert capsys.readouterr().err == ""


def test_a_run_at_work(lock: Path) -> None:
    planned()
    with held_meanwhile(FOLDER):
        unlock_dead(FOLDER)
    assert lock.exists()
    assert unlock.stays == [
        f"results/x: process 7 on {socket.gethostname()} is at work; end it there first, with Ctrl-C or 'kill 7'"
    ]


def test_a_run_elsewhere(lock: Path) -> None:
    planned(host="login9")
    unlock_dead(FOLDER)
    assert lock.exists()
    assert unlock.stays == [
        "results/x: process 7 on login9 holds no lock that is seen from here, but may be at work; say "
        "'tokbench cancel' on login9, or with --force once it has ended"
    ]


@pytest.mark.parametrize(
    ("answer", "left"), [("echo 12_1 a; echo 12_2 a", "2 of its jobs"), ("exit 1", "its jobs"), ("", None)]
)
def test_jobs_on_a_cluster(
    answer: str, left: str | None, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(slurm=("a",))
    queue(tmp_path, answer, monkeypatch)
    unlock_dead(FOLDER)
    assert lock.exists() == (left is not None)
    assert unlock.stays == [
        f"results/x: a run that was killed went through SLURM, and {left} may be at work still; say 'tokbench cancel "
        "results/x', then this again"
    ] * (left is not None)
