"""Suites as data: names, settings, and that lm-eval has their tasks."""

from pathlib import Path
from types import ModuleType

import pytest
from pydantic import ValidationError

from tests.downstream import OFFLINE
from tokbench.downstream.suites import SuiteOptions, named_suite, named_suites
from tokbench.registry import TokbenchError


def test_named_suites() -> None:
    assert set(named_suites()) >= {"offline", "tokenization_is_more_than_compression"}
    published = named_suite("tokenization_is_more_than_compression")
    assert len(published.tasks) == 10
    baselines = [published.settings(task).random_baseline for task in published.tasks]
    assert sum(map(float, baselines)) / 10 == pytest.approx(0.32)  # type: ignore[arg-type]
    assert {published.settings(task).num_fewshot for task in published.tasks} == {5}
    assert named_suite("offline").tasks == OFFLINE
    with pytest.raises(TokbenchError, match="Did you mean 'offline'"):
        named_suite("ofline")


def test_suite_mistakes_are_named() -> None:
    with pytest.raises(ValidationError, match="Did you mean 'copa'"):
        SuiteOptions(tasks=("copa",), overrides={"coppa": {}})  # type: ignore[dict-item]
    with pytest.raises(ValidationError, match="named twice"):
        SuiteOptions(tasks=("copa", "copa"))


def test_hub_suites_name_tasks_that_lm_eval_has(torch: ModuleType) -> None:
    import lm_eval.tasks

    collection = Path(lm_eval.tasks.__file__).parent
    folders = {"arc_easy": "arc", "arc_challenge": "arc", "copa": "super_glue", "boolq": "super_glue"}
    for suite in named_suites().values():
        for task in suite.tasks if suite.source == "hub" else ():
            place = collection / folders.get(task, task.split("_")[0])
            named = (file.read_text(encoding="utf-8") for file in place.rglob("*.yaml"))
            assert any(f"task: {task}\n" in text or f'"task": "{task}"' in text for text in named), task
