"""Fetching the data of a hub suite: the one place of this stage that reaches a network."""

import json
import os
from pathlib import Path

from tokbench.atomic import atomic_folder
from tokbench.downstream.suites import SuiteOptions
from tokbench.errors import TokbenchError


def fetch_tasks(suite: SuiteOptions, folder: Path) -> list[str]:
    """Fetch the data sets of a suite into a folder that serves as the hub's cache from then on.

    No code of the data sets' is run. ``revisions.json`` in the folder names the commit of each data set, pinned or not,
    in the form of the suite's key ``revisions``.

    Args:
        suite: a suite of the hub.
        folder: appears whole or not at all.

    Returns:
        Names of the tasks fetched.

    Raises:
        TokbenchError: the suite is an offline one, or a data set is not to be had.
    """
    if suite.source != "hub":
        command = "make_tasks" if suite.source == "offline" else "import_tasks"
        raise TokbenchError(f"the tasks of this suite are made with 'tokbench {command}', not fetched")
    with atomic_folder(folder, "fetched tasks") as partial:
        os.environ["HF_HOME"] = str(partial.resolve())
        from tokbench.downstream.task_loading import load_tasks, revision

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
