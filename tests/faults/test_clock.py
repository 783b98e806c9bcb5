"""A clock that jumps, forwards or backwards, makes nothing anew that is done, and nothing of what is left wrong."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.faults.conftest import SMALL
from tests.faults.trial import Trial, by_itself, differing

pytestmark = by_itself

DAY = 86_400


def shift(trial: Trial, jump: int) -> None:
    """Date all that stands otherwise, as if it had been written before the clock jumped."""
    for path in [*trial.folder.glob("results/**/*"), *trial.folder.glob(".snakemake/**/*")]:
        with suppress(FileNotFoundError):
            times = path.stat()
            os.utime(path, (times.st_atime + jump, times.st_mtime + jump))


@pytest.mark.parametrize("jump", [-400 * DAY, DAY // 24, 400 * DAY], ids=["far back", "an hour on", "far on"])
def test_half_was_made_by_another_clock(jump: int, small: Trial, tmp_path: Path) -> None:
    """What stands bears times that lie so far from those of what follows: the clock jumped in between."""
    trial = Trial(tmp_path / "trial", SMALL)
    trial.run("--until", "build")
    shift(trial, jump)
    trial.run()
    assert differing(trial.contents(), small.contents()) == []
    assert trial.told <= small.told
    assert "Nothing to be done" in trial.run()


def test_the_clock_is_set_back_while_jobs_run(small: Trial, tmp_path: Path) -> None:
    """What was made before is from the future then: jobs that read it fail, say why, and the next run goes on."""
    trial = Trial(tmp_path / "trial", SMALL)
    run = trial.start()
    assert run.until(partial(run.at_work, trial.results, "measure")), run.printed()
    shift(trial, DAY)
    assert "clock skew" in run.ended(1)
    assert "Traceback" not in run.printed()
    assert "bore dates of the future" in trial.run()
    assert differing(trial.contents(), small.contents()) == []
    assert "Nothing to be done" in trial.run()
