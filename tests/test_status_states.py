"""The states of jobs by what they left: outputs, logs and the engine's marks; and whether a run is at work."""

import os
from pathlib import Path

import pytest

from tests.support.plans import job, plan_of, put
from tokbench.status.overview import overview
from tokbench.status.traces import Life, Traces, life_of, mark, marked_outputs, states
from tokbench.workflow.lock import held_meanwhile, is_held

OUTPUT, LOG = "results/x/made/a", "results/x/logs/make/a.log"
CASES: list[tuple[str, str, Life, str]] = [
    # What stands, of it what stood when the run began, whether the run is at work, the state.
    ("", "", "running", "missing"),
    ("output log", "", "running", "done"),
    ("output log", "", "ended", "done"),
    ("output log", "output log", "running", "missing"),
    ("output log", "output log", "ended", "missing"),
    ("output log mark", "", "running", "running"),
    ("output log mark", "", "ended", "interrupted"),
    ("log mark", "", "running", "running"),
    ("log mark", "", "ended", "interrupted"),
    ("mark", "", "running", "queued"),
    ("log mark", "log", "running", "queued"),
    ("log mark", "log mark", "running", "missing"),
    ("mark", "mark", "running", "missing"),
    ("log mark", "log mark", "ended", "interrupted"),
    ("log", "", "running", "failed"),
    ("log", "", "ended", "failed"),
    ("log", "log", "running", "missing"),
    ("log", "log", "ended", "failed"),
    ("log", "", "unknown", "failed"),
]


@pytest.mark.parametrize(("stands", "before", "life", "state"), CASES)
def test_state(stands: str, before: str, life: Life, state: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    places = {"output": tmp_path / OUTPUT, "log": tmp_path / LOG, "mark": Path(mark(str(marks), OUTPUT))}
    times_of = {kind: put(places[kind]).stat().st_mtime_ns for kind in stands.split()}
    stood = {kind: times_of[kind] for kind in before.split()}
    plan = plan_of(tmp_path, job("a", stood=stood or None), marks=str(marks))
    assert states(plan, life) == [state]


@pytest.mark.parametrize("life", ["running", "ended"])
def test_an_output_that_was_removed_has_not_failed(life: Life, tmp_path: Path) -> None:
    """The benchmark is written after a success alone; one that is older than the log is of a success before."""
    log, benchmark = put(tmp_path / LOG, "done"), put(tmp_path / "results/x/benchmarks/make/a.tsv", "s")
    plan = plan_of(tmp_path, job("a"), marks=str(tmp_path))
    for logged, timed, state in ((1, 2, "missing"), (2, 2, "missing"), (3, 2, "failed")):
        os.utime(log, (logged, logged))
        os.utime(benchmark, (timed, timed))
        assert states(plan, life) == [state]
    assert [told.message for told in overview(plan, life).jobs] == ["done"]


def test_a_job_that_has_just_begun_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine marks it a moment after its log has come to be."""
    marks = tmp_path / "marks"
    marks.mkdir()
    put(tmp_path / LOG)
    plan = plan_of(tmp_path, job("a"), marks=str(marks))
    monkeypatch.setattr("tokbench.status.traces.time.sleep", lambda _: put(Path(mark(str(marks), OUTPUT))))
    assert states(plan, "running") == ["running"]


def test_without_marks_to_be_seen_a_log_means_work(tmp_path: Path) -> None:
    """The engine may keep them in a database, and its folder may not be seen from another machine."""
    put(tmp_path / LOG)
    for marks in (None, str(tmp_path / "nowhere")):
        plan = plan_of(tmp_path, job("a"), marks=marks)
        assert Traces(plan, at_work=True).state(plan.jobs[0]) == "running"


def test_temporary_outputs_are_done_when_what_is_made_of_them_is(tmp_path: Path) -> None:
    """Also where that is temporary itself; not while one of them is to be made."""
    names = [f"results/x/made/{name}" for name in "abcd"]
    chain = (job("a", into=[names[1]]), job("b", into=names[2:]), job("c"), job("d"))
    put(tmp_path / names[2])
    assert states(plan_of(tmp_path, *chain), "ended") == ["missing", "missing", "done", "missing"]
    put(tmp_path / names[3])
    assert states(plan_of(tmp_path, *chain), "ended") == ["done"] * 4


def test_marks_are_those_of_the_engine(tmp_path: Path) -> None:
    """Names too long for a file are spread over folders."""
    from snakemake.persistence.file import FilePersistence

    engine = FilePersistence.__new__(FilePersistence)
    engine._max_len = None
    for output in (OUTPUT, "results/straße/" + "long" * 150, "results/x/" + "y" * 700):
        path = mark(str(tmp_path), output)
        assert path == engine._record_path(str(tmp_path), output)
        put(Path(path))
        assert output in marked_outputs(str(tmp_path))


def test_whether_a_run_is_at_work(tmp_path: Path) -> None:
    plan, elsewhere = plan_of(tmp_path, job("a")), plan_of(tmp_path, job("a"), host="elsewhere")
    assert life_of(plan) == "ended"
    assert life_of(elsewhere) == "unknown"
    with held_meanwhile(plan.folder):
        assert life_of(plan) == "running"
        assert life_of(elsewhere) == "running"
    assert life_of(plan) == "ended"


def test_the_lock_is_had_although_others_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks whether a run is at work keeps none from beginning."""
    import fcntl

    with held_meanwhile(tmp_path):
        pass
    looking = os.open(tmp_path / ".lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("tokbench.workflow.lock.time.sleep", lambda _: os.close(looking))
    with held_meanwhile(tmp_path):
        assert is_held(tmp_path) is True
