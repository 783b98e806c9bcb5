"""Several runs at once: of one experiment, which only one may be at, and of experiments that share what they read."""

from pathlib import Path

from tests.faults.conftest import SMALL
from tests.faults.trial import Trial, by_itself, differing

pytestmark = by_itself


def test_two_of_one_experiment(small: Trial, tmp_path: Path) -> None:
    """From one checkout, and from another that writes to the same folder."""
    trial = Trial(tmp_path / "trial", SMALL)
    other = Trial(tmp_path / "other", SMALL)
    (other.folder / "results").symlink_to(trial.folder / "results")
    (trial.folder / "results").mkdir()
    run = trial.start()
    assert run.until(lambda: list(trial.results.glob("logs/count/**/*.log"))), run.printed()
    for second in (trial, other):
        printed = second.run(status=1)
        assert f"process {run.process.pid} on " in printed
        assert "at work" in printed
        assert "start  " not in printed
    run.ended()
    assert differing(trial.contents(), small.contents()) == []


def test_two_experiments_of_one_checkout(small: Trial, tmp_path: Path) -> None:
    """They run side by side, and one outlives the kill of the other."""
    trial = Trial(tmp_path / "trial", SMALL)
    text = (trial.folder / "config.yaml").read_text()
    (trial.folder / "twin.yaml").write_text(text.replace("name: small", "name: twin"))
    first = trial.start()
    second = trial.start("--configfile", "twin.yaml")
    twin = trial.folder / "results" / "twin"
    assert second.until(lambda: list(twin.glob("tokenizers/*/*"))), second.printed()
    second.kill()
    first.ended()
    assert differing(trial.contents(), small.contents()) == []
    trial.run("--configfile", "twin.yaml")
    trial.name = "twin"
    told = ("report.html", "tables", "statistics", "typeset", "figures")
    renamed = (b"results/twin/", b"results/small/")
    found = {
        name: held.replace(b"twin", b"small") if name.startswith("leaderboard") else held.replace(*renamed)
        for name, held in trial.contents().items()
        if not name.startswith(told)
    }
    wanted = {name: held for name, held in small.contents().items() if not name.startswith(told)}
    assert differing(found, wanted) == []
