"""What is answered in the engine's place is what the engine answers."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake
import snakemake.api
from hypothesis import example, given
from hypothesis import strategies as st
from snakemake import io
from snakemake.common import prefix_lookup
from snakemake.io import AnnotatedString, IOFile

from tokbench.workflow.quick import ENGINE, PLAIN, PrefixLookup, quicken

ROOT = Path(__file__).parents[1]
PATHS = st.text("ab/.{,}:_ \n-", max_size=12)
FILES = st.text("ab/.", min_size=1, max_size=6).filter(lambda path: not path.startswith("//"))
REPLACED = (
    (io, "apply_wildcards"),
    (io, "check"),
    (io._IOFile, "is_storage"),
    (snakemake.output_index, "PrefixLookup"),
    (snakemake.jobs.Job, "is_valid"),
    (snakemake.dag.DAG, "check_directory_outputs"),
)


def kept() -> list[Any]:
    return [vars(owner)[name] for owner, name in REPLACED]


@pytest.fixture(scope="module")
def answers() -> Iterator[dict[str, tuple[Any, Any]]]:
    """The engine's own answer to each question, and ours."""
    own = kept()
    quicken(snakemake)
    yield {name: both for (_, name), *both in zip(REPLACED, own, kept(), strict=True)}  # type: ignore[misc]
    for (owner, name), was in zip(REPLACED, own, strict=True):
        setattr(owner, name, was)


def outcome(function: Any, *arguments: Any) -> Any:
    """What comes back, or how it fails."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def test_the_version_is_the_one_that_is_installed() -> None:
    """Who takes another compares what is replaced with what it has there, first."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["workflow"]
    assert extra == [f"snakemake=={ENGINE}"]
    assert snakemake.__version__ == ENGINE


def test_all_of_it_is_replaced_once(answers: dict[str, tuple[Any, Any]]) -> None:
    assert all(own is not ours for own, ours in answers.values())
    now = kept()
    quicken(snakemake)
    assert kept() == now


def test_another_version_is_left_alone() -> None:
    quicken(SimpleNamespace(__version__="9.28.0"))


@given(st.lists(st.sampled_from(["{a}", "{b}", "{ a }", "{a,x+}", "{b,[0-9]{4}}", "{{a}}", "{c}", "{", "/", "x"])))
def test_wildcards(answers: dict[str, tuple[Any, Any]], parts: list[str]) -> None:
    own, ours = answers["apply_wildcards"]
    pattern = "".join(parts)
    for values in ({"a": "one", "b": 2}, {"a": "{b}"}):
        assert outcome(ours, pattern, values) == outcome(own, pattern, values)
    assert type(ours(AnnotatedString("plain"), {})) is type(own(AnnotatedString("plain"), {})) is str


@given(PATHS)
@example("results/demo/models/mpt-tiny/bpe_1.5/512")
@example("//a")
@example("a//b")
@example("")
def test_odd_paths_are_told(answers: dict[str, tuple[Any, Any]], path: str) -> None:
    told: list[str] = []
    logger = SimpleNamespace(warning=told.append)
    own, ours = answers["check"]
    rule = SimpleNamespace(name="build", lineno=3, snakefile="Snakefile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "logger", logger)
        own(path, rule, False)
        before = list(told)
        told.clear()
        ours(path, rule=rule, is_storage=False)
    assert told == before
    assert not (told and PLAIN.fullmatch(path))


@pytest.mark.parametrize("flags", [{}, {"temp": True}, {"storage_object": None}, {"storage_object": object()}])
def test_storage(answers: dict[str, tuple[Any, Any]], flags: dict[str, Any]) -> None:
    own, ours = answers["is_storage"]
    file = SimpleNamespace(_file=AnnotatedString("a"))
    file._file.flags = flags
    assert ours.fget(file) == own.fget(file)
    for plain in (SimpleNamespace(_file="a"), IOFile("a"), SimpleNamespace(_file=outcome)):
        assert ours.fget(plain) is own.fget(plain) is False


@given(st.lists(st.text("ab/", max_size=5)), st.text("ab/", max_size=8))
def test_prefixes(keys: list[str], query: str) -> None:
    entries = [(key, place) for place, key in enumerate(keys)]
    own, ours = prefix_lookup.PrefixLookup(entries), PrefixLookup(entries)
    assert list(ours.match_iter(query)) == list(own.match_iter(query))
    assert ours.match(query) == own.match(query)


class Job:
    """One that can be sorted, as the engine's can."""

    def __init__(self, output: list[str]) -> None:
        self.output = output

    def __lt__(self, other: "Job") -> bool:
        return False

    def __repr__(self) -> str:
        return "job"


@given(st.lists(st.tuples(FILES, st.integers(0, 2)), unique_by=lambda one: Path(one[0])))
@example([("a", 0), ("a/b", 1)])
@example([("a", 0), ("a/b", 0)])
@example([("a", 0), ("a.b", 1), ("a/b", 2)])
@example([("/a", 0), ("/a/./b", 1)])
def test_folders_within_folders(answers: dict[str, tuple[Any, Any]], outputs: list[tuple[str, int]]) -> None:
    own, ours = answers["check_directory_outputs"]
    dag = SimpleNamespace(jobs=[Job([file for file, of in outputs if of == job]) for job in range(3)])
    assert outcome(ours, dag) == outcome(own, dag)


def test_a_job_is_valid_where_its_log_and_benchmark_are(answers: dict[str, tuple[Any, Any]]) -> None:
    asked = []

    class Found:
        log = property(lambda self: asked.append("log"))
        benchmark = property(lambda self: asked.append("benchmark"))

    answers["is_valid"][1](Found())
    assert sorted(asked) == ["benchmark", "log"]
