"""Killed twenty times at random moments of every stage, the default experiment ends as if it never had been.

A truncated or altered file is never accepted: its reader names it, or the run makes it again.

Concurrent runs: of one experiment, which a lock allows once, and of experiments with common inputs.

No space at any stage, or a read-only tree: one error line, nothing is lost, the next run continues.

An interrupted download leaves no partial file, and is started again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import polars as pl
import pytest

from tests.faults.trial import Run, Trial, by_itself, content, differing, disk, done, full, read_only, stages
from tokbench.workflow.status import Stage, build_overview

SMALL = Path(__file__).with_name("small.yaml")
KILLS = 20
LAST = ("draw", "typeset", "report", "leaderboard", "cite")
"""Stages that nothing waits for: they run side by side, one may end while another is killed, and leave no moment."""
SPARE = 3
"""Further moments, for those that come too late: the run has ended meanwhile."""
SEED = int(os.environ.get("TOKBENCH_SEED", "0"))
"""Of the moments; they depend on how fast the machine is, too."""


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """The default experiment; nobody writes to it any more."""
    made = Trial(tmp_path_factory.mktemp("demonstration"))
    made.run()
    return made


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A small one with a language model; nobody writes to it any more."""
    made = Trial(tmp_path_factory.mktemp("small"), SMALL)
    made.run()
    return made


def moments(demonstration: Trial) -> list[tuple[str, float]]:
    """A stage in which to kill and the seconds to wait in it, for each kill: every stage has one, in order."""
    random = Random(SEED)
    seen = build_overview(demonstration.plan(), life="ended")
    longest = {stage.name: _seconds(stage) for stage in seen.stages}
    stages = [*longest, *random.choices(list(longest), k=max(0, KILLS + len(LAST) + SPARE - len(longest)))]
    stages.sort(key=list(longest).index)
    return [(stage, random.uniform(0, longest[stage])) for stage in stages]


def _seconds(stage: Stage) -> float:
    """Time of its longest job."""
    return stage.longest.times.wall if stage.longest and stage.longest.times else 0.0


@by_itself
def test_killed_twenty_times(demonstration: Trial, tmp_path: Path) -> None:
    """Every other time the jobs are killed too, as by a machine that dies; else they stay at work."""
    killed = Trial(tmp_path)
    wanted = demonstration.contents()
    order = [stage.name for stage in build_overview(demonstration.plan(), life="ended").stages]
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


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 16
    file.write_bytes(held)


DAMAGES = {"cut": cut, "altered": flip}
SCORES = "byte_lm/pydoc/bytes/scores/0000.parquet"
PLACES = {
    "shard": ("corpus/pydoc/evaluation/0000.parquet", "corpus/pydoc", "pretokens/pydoc/evaluation intrinsic tables"),
    "counts": ("pretokens/pydoc/evaluation/gpt2.parquet", "", "intrinsic tables"),
    "vocabulary": ("tokenizers/bpe/800/tokens.vocab", "tokenizers/bpe/800", "intrinsic tables"),
    "byte scores": (SCORES, "", "tokenizers/bytespan intrinsic/bytespan tables"),
    "model": ("models/tiny/bpe/800/model.safetensors", "models/tiny/bpe/800", "downstream tables"),
    "measurements": ("intrinsic/bpe/800.json", "", "tables"),
    "table": ("tables/intrinsic.parquet", "tables", "figures"),
}
"""A file, the folder that is made with it, and what is missing, so that it must be read."""


def lay_aside(trial: Trial, *outputs: str) -> None:
    """Have them made again: what nothing lacks that is asked for, Snakemake leaves as it is."""
    for number, output in enumerate(outputs):
        (trial.results / output).rename(trial.folder.with_name(f"aside{number}"))


def is_told_and_made_again(trial: Trial, small: Trial, line: str, spoilt: Path) -> None:
    """The run ends with the line; without what is spoilt the next one makes all that there was."""
    printed = trial.run(status=1)
    assert line in printed, printed
    assert "Traceback" not in printed
    spoilt.rename(trial.folder.with_name("spoilt"))
    trial.run()
    assert differing(trial.contents(), small.contents()) == []


@by_itself
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", PLACES)
def test_results(place: str, damage: str, small: Trial, tmp_path: Path) -> None:
    name, whole, missing = PLACES[place]
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", *missing.split())
    DAMAGES[damage](trial.results / name)
    if damage == "cut" and not whole and name.endswith(".parquet"):  # The record at its end is lost.
        trial.run()
        assert differing(trial.contents(), small.contents()) == []
        assert content(trial.results / name) == content(small.results / name)
        return
    is_told_and_made_again(trial, small, f"tokbench: results/small/{whole or name}", trial.results / (whole or name))


@by_itself
@pytest.mark.parametrize("damage", DAMAGES)
def test_packed_sequences(damage: str, small: Trial, tmp_path: Path) -> None:
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", "tables", "downstream", "embeddings")
    trial.run("--forcerun", "pack", "--until", "pack", "--notemp")
    packed = trial.results / "packed" / "tiny" / "bpe" / "800"
    DAMAGES[damage](packed / "shard.00000.mds")
    trial.results.joinpath("models").rename(tmp_path / "models")
    is_told_and_made_again(trial, small, "tokbench: results/small/packed/tiny/bpe/800: not ", packed)


@by_itself
@pytest.mark.parametrize("damage", DAMAGES)
def test_checkpoint(damage: str, small: Trial, tmp_path: Path) -> None:
    """Training is killed with a checkpoint behind it, which is altered before training goes on."""
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", "tables", "downstream", "embeddings")
    states = trial.results / "checkpoints" / "pretrain" / "tiny" / "bpe" / "800" / "states"
    run = trial.start("--forcerun", "pretrain")
    assert run.until(_sealed(states)), run.printed()
    run.kill()
    [checkpoint] = states.glob("ba*.pt")
    DAMAGES[damage](checkpoint)
    line = f"{checkpoint.relative_to(trial.folder)}: not the checkpoint that was written; delete"
    is_told_and_made_again(trial, small, line, states.parent)


def _sealed(states: Path) -> Callable[[], object]:
    return lambda: list(states.glob("ba*.pt"))


@by_itself
def test_two_of_one_experiment(small: Trial, tmp_path: Path) -> None:
    """From one checkout, and from another that writes to the same folder."""
    trial = Trial(tmp_path / "trial", SMALL)
    other = Trial(tmp_path / "other", SMALL)
    (other.folder / "results").symlink_to(trial.folder / "results")
    (trial.folder / "results").mkdir()
    run = trial.start()
    assert run.until(lambda: list(trial.results.glob("logs/count_split/**/*.log"))), run.printed()
    for second in (trial, other):
        printed = second.run(status=1)
        assert f"process {run.process.pid} on " in printed
        assert "at work" in printed
        assert "start  " not in printed
    run.ended()
    assert differing(trial.contents(), small.contents()) == []


@by_itself
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
    told = ("report.html", "experiment/report.json", "tables", "statistics", "typeset", "figures")
    renamed = (b"results/twin/", b"results/small/")
    found = {
        name: held.replace(b"twin", b"small") if name.startswith("leaderboard") else held.replace(*renamed)
        for name, held in trial.contents().items()
        if not name.startswith(told)
    }
    wanted = {name: held for name, held in small.contents().items() if not name.startswith(told)}
    assert differing(found, wanted) == []


ROOM = 1000
"""Megabytes that the small experiment does with."""


@by_itself
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


@by_itself
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


@by_itself
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


ROWS = 5000
HUB = """
import sys, time
import datasets

def rows():
    for number in range({rows}):
        if number == 3000:
            {fault}
        yield {{"text": f"row {{number}}"}}

datasets.load_dataset = lambda *arguments, **options: rows()
from tokbench.commands.main import main
main(sys.argv[1:])
"""
"""The command line before a hub that has a fault in the middle of a data set."""
SOURCE = {"type": "hub", "dataset": "some/one", "revision": "0" * 40}


def fetch(output: Path, fault: str) -> Run:
    terminal = output.with_name("terminal.txt")
    code = HUB.format(rows=ROWS, fault=fault)
    with terminal.open("wb") as stream:
        command = [sys.executable, "-c", code, "fetch", "--recipe", json.dumps(SOURCE), "-o", str(output)]
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
    return Run(process, terminal, 0.0)


@by_itself
def test_killed(tmp_path: Path) -> None:
    output = tmp_path / "hub.parquet"
    run = fetch(output, "time.sleep(600)")
    assert run.until(lambda: any(file.stat().st_size for file in tmp_path.glob(".hub*"))), run.printed()
    run.kill()
    assert not output.exists()
    whole(output)


@by_itself
def test_cut_off(tmp_path: Path) -> None:
    output = tmp_path / "hub.parquet"
    printed = fetch(output, "raise ConnectionError('connection reset by peer')").ended(2)
    assert printed == "tokbench: some/one at 00000000: cannot be fetched (connection reset by peer)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["terminal.txt"]
    whole(output)


def whole(output: Path) -> None:
    fetch(output, "pass").ended()
    assert pl.read_parquet(output)["text"].to_list() == [f"row {number}".encode() for number in range(ROWS)]
    assert sorted(path.name for path in output.parent.iterdir()) == [output.name, "terminal.txt"]
