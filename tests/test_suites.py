"""Suites as data: names, settings, and that lm-eval has their tasks."""

from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.downstream_tasks import OFFLINE
from tokbench.downstream.suites import SuiteOptions, named_suite, named_suites
from tokbench.errors import TokbenchError


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
    with pytest.raises(ValidationError, match="listed twice"):
        SuiteOptions(tasks=("copa", "copa"))


def test_hub_suites_name_tasks_that_lm_eval_has(torch: ModuleType) -> None:
    import lm_eval.tasks

    @cache
    def written(place: Path) -> list[str]:
        return [file.read_text(encoding="utf-8") for file in place.rglob("*") if "yaml" in file.name]

    collection = Path(lm_eval.tasks.__file__).parent
    folders = {"arc_easy": "arc", "arc_challenge": "arc", "copa": "super_glue", "boolq": "super_glue"}
    for suite in named_suites().values():
        texts = []
        for task in (*suite.tasks, *suite.texts) if suite.source == "hub" else ():
            texts += written(collection / folders.get(task, task.split("_")[0]))
            assert any(f"task: {task}\n" in text or f'"task": "{task}"' in text for text in texts), task
        for data_set in suite.revisions:
            assert any(f"dataset_path: {data_set}\n" in text for text in texts), data_set


def test_revisions_are_asked_for_and_told(torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from lm_eval.tasks import TaskManager

    from tokbench.downstream.task_loading import pinned, revision

    asked = []

    def load_dataset(**given: Any) -> None:
        asked.append(given)
        raise FileNotFoundError

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    commit = "0123456789" * 4
    (tmp_path / "toy.yaml").write_text("task: toy\ndataset_path: some/set\ndataset_kwargs: {data_dir: x}\n")
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    suite = SuiteOptions(source="hub", tasks=("toy",))
    assert pinned(manager, "toy", suite) == "toy"
    suite = SuiteOptions(source="hub", tasks=("toy",), revisions={"some/set": commit})
    with pytest.raises(FileNotFoundError):
        manager.load([pinned(manager, "toy", suite)])
    assert asked == [{"path": "some/set", "name": None, "data_dir": "x", "revision": commit}]
    with pytest.raises(TokbenchError, match="Did you mean 'toy'"):
        pinned(manager, "toi", suite)
    cached = SimpleNamespace(cache_files=[{"filename": f"cache/some___set/default/0.0.0/{commit}/set-test.arrow"}])
    assert revision(SimpleNamespace(dataset={"test": cached})) == commit  # type: ignore[arg-type]
    local = SimpleNamespace(cache_files=[{"filename": "cache/json/default/0.0.0/ab/json-test.arrow"}])
    assert revision(SimpleNamespace(dataset={"test": local})) is None  # type: ignore[arg-type]
