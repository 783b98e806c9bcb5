"""Loading of a suite's tasks for lm-eval, from a folder of YAML files or lm-eval's own collection.

Fetching the data of a hub suite is the only part of evaluation that uses the network.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError, nearest, unknown
from tokbench.evaluation.suites import SuiteOptions, is_template
from tokbench.io.atomic import atomic_folder, reject_altered
from tokbench.io.text_files import read_bytes
from tokbench.io.yaml import parse_yaml

if TYPE_CHECKING:
    from lm_eval.api.task import Task
    from lm_eval.tasks import TaskManager


REMEDY = "make the tasks again with 'tokbench make_tasks' or 'tokbench import_tasks'"
REQUIRED = ("task", "dataset_path", "dataset_kwargs", "output_type", "test_split", "doc_to_text", "doc_to_target")
WRITTEN: dict[str, tuple[Any, ...]] = {
    "dataset_path": ("json",),
    "output_type": ("multiple_choice", "loglikelihood"),
    "training_split": ("train",),
    "fewshot_split": ("train",),
    "test_split": ("test",),
    "num_fewshot": (0,),
    "doc_to_text": ("context", "gold"),
    "doc_to_choice": ("choices", "openings"),
    "doc_to_target": ("gold", "ending", "continuation"),
    "target_delimiter": (" ", ""),
    "fewshot_config": ({"sampler": "first_n"},),
    "metric_list": tuple(
        [{"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in metrics]
        for metrics in (("acc",), ("acc", "acc_norm"))
    ),
    "metadata": ({"version": 1.0},),
}
"""Values that Tokbench writes for each key of a local task's YAML."""


def load_tasks(suite: SuiteOptions, tasks_folder: Path | str | None, cache: Path | str) -> dict[str, "Task"]:
    """Load the tasks and texts of a suite with their data. For a suite of the hub this fetches them.

    After fetching, ``HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1`` in the environment restricts later runs to the local
    cache.

    Args:
        suite: tasks and settings.
        tasks_folder: for an offline or local suite, a folder of ``{task}.yaml``. Data files are relative to it.
        cache: folder for copies of such a suite by the ``datasets`` library. Those of the hub go to its own cache.

    Raises:
        TokbenchError: a task is missing, has too few questions for its examples, or has no choices.
    """
    import datasets
    from lm_eval.tasks import TaskManager

    # The tasks as lm-eval describes them.
    datasets.disable_progress_bars()
    if suite.source == "hub":
        manager = TaskManager()
        specs = [pinned(manager, name, suite) for name in (*suite.tasks, *suite.texts)]
    else:
        if tasks_folder is None:
            command = "make_tasks" if suite.source == "offline" else "import_tasks"
            raise TokbenchError(
                f"suite: a suite that is not of the hub needs the folder of its tasks; "
                f"make it with 'tokbench {command}'"
            )
        manager = TaskManager(include_defaults=False)
        specs = [_local_task(Path(tasks_folder), name, cache) for name in suite.tasks]
    try:
        tasks: dict[str, Task] = manager.load(specs)["tasks"]
    except OSError as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(
            f"suite: the data of a task could not be read ({reason}); fetch it, or correct the task"
        ) from error

    # Texts are measured in bits per byte, and questions have choices.
    for name, task in tasks.items():
        if name in suite.texts:
            if task.OUTPUT_TYPE != "loglikelihood_rolling":
                raise TokbenchError(
                    f"suite: task '{name}' asks for {task.OUTPUT_TYPE}, not for a text; name it in tasks"
                )
            continue
        if task.OUTPUT_TYPE not in ("multiple_choice", "loglikelihood"):
            raise TokbenchError(f"suite: task '{name}' asks for {task.OUTPUT_TYPE}, not for choices; leave it out")
        _set_examples(name, task, suite.settings(name).num_fewshot)
        task.set_fewshot_seed(seed=suite.fewshot_seed)
    return {name: tasks[name] for name in (*suite.tasks, *suite.texts)}


def revision(task: "Task") -> str | None:
    """Return the commit of a hub task's data set, which is the name of its cache folder; None if there is none."""
    for split in task.dataset.values():
        for file in split.cache_files:
            if re.fullmatch(r"[0-9a-f]{40}", commit := Path(file["filename"]).parent.name):
                return commit
    return None


def unpinned_line(suite: SuiteOptions, revisions: Mapping[str, str | None]) -> str | None:
    """Return one line on the data sets whose commit the suite does not pin; None if it pins all.

    Args:
        suite: a suite of the hub.
        revisions: fetched commit of each data set.
    """
    open_ones = {name: commit for name, commit in revisions.items() if name not in suite.revisions}
    if not open_ones:
        return None
    commits = ", ".join(f"{name}: {commit or 'COMMIT'}" for name, commit in open_ones.items())
    return (
        f"warning: not pinned, the newest commit was fetched: {', '.join(open_ones)}; to pin them, add to the "
        f"revisions of the suite: {commits}"
    )


def pinned(manager: "TaskManager", name: str, suite: SuiteOptions) -> Any:
    """Return a task of lm-eval, with the suite's revision of its data set if there is one.

    Raises:
        TokbenchError: lm-eval has no such task, or its data set runs a script.
    """
    if name not in manager.all_subtasks:
        raise TokbenchError(f"suite: '{name}' is not a task of lm-eval.{nearest(name, manager.all_subtasks)}")
    config = manager.task_index[name].cfg
    if config is None:
        return name
    arguments = config.get("dataset_kwargs") or {}
    if arguments.get("trust_remote_code"):
        raise TokbenchError(
            f"suite: task '{name}' of lm-eval runs a script of its data set; Tokbench runs no code of data sets; "
            "leave the task out"
        )
    commit = suite.revisions.get(config.get("dataset_path", ""))
    if commit is None:
        return name
    # lm-eval overrides the keys of a task only within a group.
    return {
        "group": f"{name} at {commit}",
        "task": [{"task": name, "dataset_kwargs": {**arguments, "revision": commit}}],
    }


def _set_examples(name: str, task: "Task", wanted: int | None) -> None:
    """Set the number of examples before a question, and prevent a question from being its own example.

    lm-eval draws examples from the test questions if a task has no others. It excludes the current question only if the
    task names that split for its examples. Winograd schemas and QA4MRE do not.
    """
    if task.config.num_fewshot is None or (wanted is not None and task.config.num_fewshot != 0):
        task.set_config("num_fewshot", wanted or 0)
    count = task.config.num_fewshot
    if not count:
        return
    examples = len(task.fewshot_docs() or ())
    named = task.fewshot_cfg.split is not None or task.fewshot_cfg.samples is not None
    if not (named or task.has_training_docs() or task.has_validation_docs()):
        task.fewshot_cfg.split = task.config.test_split
        examples -= 1
    if examples < count:
        raise TokbenchError(
            f"suite: task '{name}' has {examples} questions for examples, num_fewshot asks for {count}; "
            "lower num_fewshot or make the tasks from a longer text"
        )


def _local_task(folder: Path, name: str, cache: Path | str) -> dict[str, Any]:
    """Read a task's YAML, which lm-eval would run as code if it named templates, scripts or functions.

    Raises:
        TokbenchError: the file is missing, a key or value is not one that Tokbench writes, or a file of the task was
            changed.
    """
    path = folder / f"{name}.yaml"
    if not path.is_file():
        made = (file.stem for file in folder.glob("*.yaml"))
        raise TokbenchError(f"{folder}: {unknown(name, 'task of this folder', made)}")
    config = parse_yaml(read_bytes(path, REMEDY).decode("utf-8", "replace"), str(path))
    if not isinstance(config, dict):
        raise TokbenchError(f"{path}: not a mapping of keys and values; {REMEDY}")
    check_task(config, name, str(path))
    files = {split: str((folder / file).resolve()) for split, file in config["dataset_kwargs"]["data_files"].items()}
    for file in (path, *(folder / name for name in config["dataset_kwargs"]["data_files"].values())):
        reject_altered(file, f"delete its folder and {REMEDY}")
    return {**config, "dataset_kwargs": {"data_files": files, "cache_dir": str(cache)}}


def check_task(config: dict[str, Any], name: str, path: str) -> None:
    """Reject a local task with anything that Tokbench does not write.

    lm-eval renders texts of a task as Jinja templates without a sandbox, and a data set may be a script. Every key must
    therefore have one of the values in :data:`WRITTEN`. The description, the only free text, must not be a template.

    Raises:
        TokbenchError: a key is missing, unknown, or has another value. The message names it.
    """
    files = {"test": f"{name}.test.jsonl"}
    written = {
        **WRITTEN,
        "task": (name,),
        "dataset_kwargs": ({"data_files": files}, {"data_files": {**files, "train": f"{name}.fewshot.jsonl"}}),
    }
    for key in (*config, *REQUIRED):
        value = config.get(key)
        if key == "description" and isinstance(value, str) and not is_template(value):
            continue
        if not any(type(value) is type(choice) and value == choice for choice in written.get(key, ())):
            raise TokbenchError(f"{path}: key '{key}' is not as Tokbench writes it (found {value!r:.40}); {REMEDY}")


def fetch_tasks(suite: SuiteOptions, folder: Path) -> list[str]:
    """Fetch the data sets of a suite into a folder that later serves as the hub's cache.

    Code of the data sets is not run. ``revisions.json`` in the folder has the commit of each data set, pinned or not,
    in the form of the suite's key ``revisions``.

    Args:
        suite: a suite of the hub.
        folder: output folder, written atomically.

    Returns:
        Names of the tasks fetched.

    Raises:
        TokbenchError: the suite is not one of the hub, or a data set cannot be fetched.
    """
    if suite.source != "hub":
        command = "make_tasks" if suite.source == "offline" else "import_tasks"
        raise TokbenchError(f"the tasks of this suite are made with 'tokbench {command}', not fetched")
    with atomic_folder(folder, "fetched tasks") as partial:
        os.environ["HF_HOME"] = str(partial.resolve())

        try:
            tasks = load_tasks(suite, None, partial / "datasets")
            revisions = {task.config.dataset_path: revision(task) for task in tasks.values()}
            (partial / "revisions.json").write_text(json.dumps(revisions, indent=1) + "\n", encoding="utf-8")
            return list(tasks)
        except TokbenchError:
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise TokbenchError(f"the tasks {', '.join(suite.tasks)} cannot be fetched ({reason})") from error
