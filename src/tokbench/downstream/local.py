"""A local suite's files as lm-eval tasks: ``{task}.yaml`` with its questions beside it as JSON lines."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tokbench.atomic import atomic_folder
from tokbench.downstream.formats import FORMS, Row, Shape, fault
from tokbench.downstream.suites import LocalTask, SuiteOptions
from tokbench.errors import TokbenchError
from tokbench.inputs.files import read_whole

REMEDY = "name a file of UTF-8 text"
METRICS = {"choices": ("acc", "acc_norm"), "schemas": ("acc",), "completions": ("acc",)}
TEMPLATES: dict[Shape, dict[str, Any]] = {
    "choices": {
        "output_type": "multiple_choice",
        "doc_to_text": "context",
        "doc_to_choice": "choices",
        "doc_to_target": "gold",
        "target_delimiter": " ",
    },
    "schemas": {
        "output_type": "multiple_choice",
        "doc_to_text": "gold",
        "doc_to_choice": "openings",
        "doc_to_target": "ending",
        "target_delimiter": "",
    },
    "completions": {
        "output_type": "loglikelihood",
        "doc_to_text": "context",
        "doc_to_target": "continuation",
        "target_delimiter": "",
    },
}
"""lm-eval's keys by shape of the questions."""


def task_files(suite: SuiteOptions) -> list[Path]:
    """Every file of a local suite, each once.

    Raises:
        TokbenchError: the suite has no path, or a task no file; the message names it.
    """
    found: dict[Path, None] = {}
    for name in suite.tasks:
        task = suite.local_task(name)
        for pattern in filter(None, (task.file, task.fewshot_file)):
            found |= dict.fromkeys(_matching(suite, pattern, name))
    return list(found)


def _matching(suite: SuiteOptions, pattern: str, task: str) -> list[Path]:
    if suite.path is None:
        raise TokbenchError("path: a local suite needs the folder of its files; add it")
    found = sorted(file for file in suite.path.glob(pattern) if file.is_file())
    if not found:
        raise TokbenchError(
            f"no file '{pattern}' of the task '{task}' in '{suite.path}'; leave the task out, or name its file "
            f"under files.{task}"
        )
    return found


class Written(NamedTuple):
    """Questions of a task: how many were written, and how many were left out because no model can answer them."""

    questions: int
    skipped: int


def write_local_tasks(suite: SuiteOptions, folder: Path | str) -> dict[str, Written]:
    """Write the tasks of a local suite, the folder whole or not at all.

    Questions keep the order of their files and the number of their record. Where a task has groups (BLiMP's
    paradigms) these take turns, so that a limit on the questions asks as many of each.

    Args:
        suite: tasks and files.
        folder: where the tasks go; it is replaced.

    Returns:
        Questions of each task.

    Raises:
        TokbenchError: a file is missing, a record is not of its format, or no model can answer it.
    """
    with atomic_folder(folder, "tasks") as partial:
        written = {name: _write_task(suite, name, partial) for name in suite.tasks}
        manifest: dict[str, dict[str, int]] = {"questions": {name: one.questions for name, one in written.items()}}
        if skipped := {name: one.skipped for name, one in written.items() if one.skipped}:
            manifest["skipped"] = skipped
        (partial / "tasks.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return written


def _write_task(suite: SuiteOptions, name: str, folder: Path) -> Written:
    task = suite.local_task(name)
    shape = FORMS[task.format].shape
    questions, skipped = _read(_matching(suite, task.file, name), task)
    if not questions:
        raise TokbenchError(f"{suite.path}/{task.file}: no question of the task '{name}'; name a file with questions")
    _write_rows(folder / f"{name}.test.jsonl", questions)
    config: dict[str, Any] = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{name}.test.jsonl"}},
        "test_split": "test",
        **TEMPLATES[shape],
        "description": task.description,
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in METRICS[shape]
        ],
    }
    if shape == "choices" and not any(row["context"] for row in questions):
        config["num_fewshot"] = 0  # Whole texts are compared; lm-eval never overrides a zero.
    if task.fewshot_file is not None:
        examples, left_out = _read(_matching(suite, task.fewshot_file, name), task)
        _write_rows(folder / f"{name}.fewshot.jsonl", examples)
        skipped += left_out
        config["dataset_kwargs"]["data_files"]["train"] = f"{name}.fewshot.jsonl"
        config |= {"training_split": "train", "fewshot_split": "train"}
        if task.format == "mmlu":
            config["fewshot_config"] = {"sampler": "first_n"}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return Written(len(questions), skipped)


def _read(files: Sequence[Path], task: LocalTask) -> tuple[list[Row], int]:
    """Return the rows of a task's files, groups by turns, and the number of rows that were left out."""
    rows, skipped = [], 0
    for file in files:
        try:
            text = read_whole(file, REMEDY).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise TokbenchError(f"{file}: cannot be read ({error}); {REMEDY}") from None
        try:
            for number, row in FORMS[task.format].read(text):
                if reason := fault(row):
                    if task.bad_records == "reject":
                        raise TokbenchError(
                            f"record {number}: {reason}; mend the record, or set 'bad_records: skip' for the task"
                        )
                    skipped += 1
                    continue
                if "context" in row:
                    row["context"] += task.ending
                rows.append({"file": file.name, "record": number, **row})
        except TokbenchError as error:
            raise TokbenchError(f"{file}, {error}") from None
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return [row for turn in zip_longest(*groups.values()) for row in turn if row is not None], skipped


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
