"""The plan that a run leaves: read as it was written, and rejected where it is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Tokbench
from tests.support.plans import job, plan_of, put
from tokbench.errors import TokbenchError
from tokbench.status.plan import Job, read_plan, write_plan


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    several = Job("gather", {}, ("results/x/one", "results/x/two"), None, None, False, None, None)
    jobs = (job("a", stood={"log": 1}, into=["results/x/b"]), job("b"), several)
    plan = plan_of(tmp_path, *jobs, marks="marks", slurm=("one", "two"), log="engine.log")
    write_plan(plan)
    assert read_plan(plan.folder) == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format":1}', '{"format":1,"run":{},"stages":{}}', '{"format":2}'])
def test_a_damaged_plan_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    put(tmp_path / "jobs.json", text)
    with pytest.raises(TokbenchError, match=r"jobs\.json.*a run of snakemake leaves one"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run.marks", ["x"]),
        ("run.directory", 5),
        ("run.log", 5),
        ("run.pid", "1"),
        ("run.slurm", [5]),
        ("run.slurm", "five"),
        ("run.folder", "a\0b"),
        ("stages.make.outputs", [[]]),
        ("stages.make.outputs", [5]),
        ("stages.make.outputs", [[5]]),
        ("stages.make.outputs", ["a", "b"]),
        ("stages.make.wildcards", {"name": [5]}),
        ("stages.make.wildcards", {"name": 5}),
        ("stages.make.wildcards", {"name": []}),
        ("stages.make.log", [5]),
        ("stages.make.benchmark", [5]),
        ("stages.make.planned", ["yes"]),
        ("stages.make.stood", {"0": {"log": "now"}}),
        ("stages.make.stood", {"0": 5}),
        ("stages.make.into", {"0": [5]}),
        ("stages.make", []),
        ("stages", []),
    ],
)
def test_a_plan_of_wrong_types_is_told_before_anything_is_done(
    key: str, value: Any, tmp_path: Path, tokbench: Tokbench
) -> None:
    plan = plan_of(tmp_path, job("a"))
    write_plan(plan)
    file = plan.folder / "jobs.json"
    told = json.loads(file.read_text())
    *above, last = key.split(".")
    at = told
    for name in above:
        at = at[name]
    at[last] = value
    file.write_text(json.dumps(told))
    line = f"tokbench: {file}: damaged, or not written by a run; a run of snakemake leaves one, "
    for command in ("status", "cancel"):
        found = tokbench(command, plan.folder)
        assert (found.status, found.stdout) == (2, b"")
        assert found.message.startswith(line)
