"""No space at any stage, or a tree that takes no writes: a line says so, nothing is lost, the next run goes on."""

from functools import partial
from pathlib import Path

import pytest

from tests.faults.conftest import SMALL
from tests.faults.disks import disk, full, read_only
from tests.faults.trial import Trial, by_itself, differing, stages

pytestmark = by_itself

ROOM = 1000
"""Megabytes that the small experiment does with."""


def test_results_have_no_room_at_any_stage(small: Trial, tmp_path: Path) -> None:
    """The disk of the results is full before a stage begins: no job of it can write, be it its log."""
    trial = Trial(tmp_path, SMALL)
    with disk(tmp_path / "results", ROOM):
        for stage in stages(small):
            before = trial.contents()
            with full(tmp_path / "results"):
                printed = trial.run("--until", stage, status=1)
            is_told(printed)
            assert before.items() <= trial.contents().items(), stage
            trial.run("--until", stage)
        trial.run()
        assert differing(trial.contents(), small.contents()) == []
        assert trial.told <= small.told


def test_nothing_has_room_at_any_stage(small: Trial, tmp_path: Path) -> None:
    """All that is written lies on one disk, Snakemake's notes as well, and it is full once a stage is at work."""
    checkout = tmp_path / "checkout"
    with disk(checkout, ROOM):
        trial = Trial(checkout, SMALL)
        with full(checkout):
            is_told(trial.run(status=1))
        failed = 0
        for stage in stages(small):
            before = trial.contents()
            run = trial.start("--until", stage)
            run.until(partial(run.at_work, trial.results, stage))
            with full(checkout):
                if run.process.wait():
                    failed += 1
                    is_told(run.printed())
            assert before.items() <= trial.contents().items(), stage
            trial.run("--until", stage)
        assert failed > len(stages(small)) / 2
        trial.run()
        assert differing(trial.contents(), small.contents()) == []


def is_told(printed: str) -> None:
    assert "No space left on device" in printed, printed
    assert "make room" in printed, printed
    assert "Traceback" not in printed, printed


@pytest.mark.parametrize("everything", [False, True], ids=["of_results", "of_everything"])
def test_read_only(everything: bool, small: Trial, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    place = checkout if everything else checkout / "results"
    with disk(place, ROOM):
        trial = Trial(checkout, SMALL)
        with read_only(place):
            printed = trial.run(status=1)
        assert "Read-only file system" in printed
        assert "Traceback" not in printed
        assert "start  " not in printed
        trial.run("--until", "build")
        with read_only(place):
            assert "Read-only file system" in trial.run(status=1)
        trial.run()
        assert differing(trial.contents(), small.contents()) == []
        assert trial.told <= small.told
