"""What the engine's jobs share: nothing that one of them could change for another."""

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from snakemake import iocontainers, jobs, rules

from tokbench.workflow.light import NOTHING, SETS, lighten


class Job:
    """Makes its sets as the engine's jobs do."""

    def __init__(self, temporary: str = "") -> None:
        for name in SETS:
            setattr(self, name, set())
        if temporary:
            self.temp_output: set[str] = {temporary}
        self.rule = SimpleNamespace(_expanded_conda_env=rules._NOT_CACHED)
        self.asked = 0

    @property
    def conda_env_spec(self) -> str:
        self.asked += 1
        return "found out"


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(iocontainers, "AttributeGuard", iocontainers.AttributeGuard)
    monkeypatch.setattr(jobs, "Job", Job)
    monkeypatch.setattr(Job, "__init__", Job.__init__)
    monkeypatch.setattr(Job, "conda_env_spec", Job.conda_env_spec)
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_jobs_share_what_is_empty() -> None:
    for _ in range(2):  # A second time changes nothing.
        lighten(iocontainers, jobs, rules)
    one, other = Job("packed"), Job()
    assert one.temp_output == {"packed"}
    assert all(getattr(other, name) is NOTHING for name in SETS)
    with pytest.raises(AttributeError):
        other.temp_output.add("packed")


def test_an_environment_that_the_rule_knows_takes_no_parameters() -> None:
    lighten(iocontainers, jobs, rules)
    job = Job()
    assert (job.conda_env_spec, job.asked) == ("found out", 1)
    for known in ("envs/tokenizers.yaml", None):
        job.rule._expanded_conda_env = known
        assert (job.conda_env_spec, job.asked) == (known, 1)


def test_the_engine_takes_what_the_rule_knows() -> None:
    """Where a rule's environment is known, it is given back whatever the parameters."""
    rule = SimpleNamespace(_expanded_conda_env="envs/tokenizers.yaml")
    assert rules.Rule.expand_conda_env(rule, {}, None, None) == "envs/tokenizers.yaml"
    assert isinstance(engine_job.conda_env_spec, property)


def test_names_that_are_guarded_still_are() -> None:
    lighten(iocontainers, jobs, rules)
    one, other = (iocontainers.InputFiles(["a", "b"]) for _ in range(2))
    assert one.sort is other.sort
    assert (one.sort.name, one.index.name) == ("sort", "index")
    with pytest.raises(AttributeError, match=r"sort\(\) cannot be used"):
        one.sort()
    other._set_name("sort", 1)
    assert other.sort == "b"
    assert isinstance(one.sort, iocontainers.AttributeGuard)


def test_the_sets_are_those_of_the_engine() -> None:
    """An engine that has others is looked at anew."""
    slots = {name for kind in type.mro(engine_job) for name in getattr(kind, "__slots__", ())}
    assert {*SETS} - {"pipe_or_service_output"} <= slots


engine_job = jobs.Job
