"""Killed twenty times at random moments of every stage, the default experiment ends as if it never had been."""

import os
from functools import partial
from pathlib import Path
from random import Random

from tests.faults.trial import Trial, by_itself, differing, done
from tokbench.status.overview import Stage, overview

pytestmark = by_itself

KILLS = 20
LAST = ("draw", "typeset", "report", "leaderboard", "cite")
"""Stages that nothing waits for: they run side by side, one may end while another is killed, and leave no moment."""
SPARE = 3
"""Further moments, for those that come too late: the run has ended meanwhile."""
SEED = int(os.environ.get("TOKBENCH_SEED", "0"))
"""Of the moments; they depend on how fast the machine is, too."""


def moments(demonstration: Trial) -> list[tuple[str, float]]:
    """A stage in which to kill and the seconds to wait in it, for each kill: every stage has one, in order."""
    random = Random(SEED)
    seen = overview(demonstration.plan(), life="ended")
    longest = {stage.name: _seconds(stage) for stage in seen.stages}
    stages = [*longest, *random.choices(list(longest), k=max(0, KILLS + len(LAST) + SPARE - len(longest)))]
    stages.sort(key=list(longest).index)
    return [(stage, random.uniform(0, longest[stage])) for stage in stages]


def _seconds(stage: Stage) -> float:
    """How long its longest job took."""
    return stage.longest.times.wall if stage.longest and stage.longest.times else 0.0


def test_killed_twenty_times(demonstration: Trial, tmp_path: Path) -> None:
    """Every other time the jobs are killed too, as by a machine that dies; else they stay at work."""
    killed = Trial(tmp_path)
    wanted = demonstration.contents()
    order = [stage.name for stage in overview(demonstration.plan(), life="ended").stages]
    kills = 0
    for number, (stage, pause) in enumerate(moments(demonstration)):
        run = killed.start()
        later = order[order.index(stage) :]
        if not run.until(partial(run.at_work, killed.results, *later)):
            killed.told += done(run.ended())
            assert stage in LAST, run.printed()
            continue
        run.sleep(pause)
        if run.process.poll() is None:
            run.kill(alone=number % 2 == 1)
            kills += 1
        killed.told += done(run.printed())
        left = killed.contents()
        assert left.items() <= wanted.items(), differing(left, {name: wanted.get(name, b"") for name in left})
    killed.run()
    assert differing(killed.contents(), wanted) == []
    assert killed.told <= demonstration.told, f"done again: {killed.told - demonstration.told}"
    assert kills >= KILLS
    assert not list(killed.results.rglob("*.partial*"))
