"""What the rules ask of an experiment's suites: where their tasks come from and what settles them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.downstream.local import task_files
from tokbench.downstream.suites import SuiteOptions
from tokbench.downstream.tasks import examples_of
from tokbench.errors import TokbenchError
from tokbench.model_memory import documents_memory
from tokbench.workflow.canonical import canonical
from tokbench.workflow.resources import Request, memory_on_attempt
from tokbench.workflow.shell import flags


@dataclass(frozen=True)
class Suites:
    """The suites of one experiment; wildcards name one, or the digest of a fetched one."""

    experiment: Experiment

    def source(self, wildcards: Any) -> str:
        """Where the tasks come from: ``offline``, ``local`` or ``hub``."""
        return self._suite(wildcards).source

    def recipe(self, wildcards: Any) -> str:
        """Options; the files of a local suite are inputs, and their folder is not named here."""
        return self._recipes[wildcards.suite]

    def digest(self, wildcards: Any) -> str:
        """Names the data of a hub suite by what is fetched, so that experiments share them."""
        return _digest(self._suite(wildcards))

    def fetch_recipe(self, wildcards: Any) -> str:
        """The hub suite that has this digest."""
        hub = (suite for suite in self.experiment.suites.values() if suite.source == "hub")
        return canonical(next(suite for suite in hub if _digest(suite) == wildcards.digest))

    def local_files(self, wildcards: Any) -> list[str]:
        """The files of a local suite."""
        return [str(path) for path in task_files(self._suite(wildcards))]

    def local_folder(self, wildcards: Any) -> str:
        """Folder of those files."""
        return str(self._suite(wildcards).path)

    def import_recipe(self, wildcards: Any) -> str:
        """Return what the tasks of a local suite are made by: their files, and how many examples prompts need."""
        suite = self._suite(wildcards)
        files = {name: suite.local_task(name).model_dump(mode="json") for name in suite.tasks}
        needed = {name: {"num_fewshot": number} for name in suite.tasks if (number := suite.settings(name).num_fewshot)}
        overrides = {"overrides": needed} if needed else {}
        return canonical({"source": "local", "tasks": suite.tasks, "files": files, **overrides})

    def examples(self, wildcards: Any) -> list[str]:
        """Return how many examples prompts of the offline tasks of a corpus need, as a flag; none where none do."""
        needed: dict[str, int] = {}
        for run in self.experiment.runs:
            if wildcards.corpus in self.experiment.corpora_of(run).values():
                for name in run.suites:
                    for task, number in examples_of(self.experiment.suites[name]).items():
                        needed[task] = max(number, needed.get(task, 0))
        return ["--examples", canonical(needed)] if needed else []

    @cached_property
    def _recipes(self) -> dict[str, str]:
        suites = self.experiment.suites.items()
        return {name: canonical(suite.model_dump(mode="json", exclude={"path"})) for name, suite in suites}

    def _suite(self, wildcards: Any) -> SuiteOptions:
        return self.experiment.suites[wildcards.suite]


def checkpoint_flags(wildcards: Any, input: Any) -> list[str]:
    """Every named input as a flag, the checkpoint of the model in place of the model."""
    named = {name: paths for name, paths in input.items() if name != "model"}
    return ["--model", f"{input.model}/checkpoints/{wildcards.share}", *flags(wildcards, named)]


def evaluating_memory(applying: Request) -> Callable[[Any, Any, int], int]:
    """MB that evaluation asks for: what its model asks for, and for the documents, once they are there.

    Args:
        applying: the model's.
    """

    def asked(wildcards: Any, input: Any, attempt: int) -> int:
        try:
            held = documents_memory(sorted(Path(str(input.corpus)).glob("evaluation/*.parquet")))
        except TokbenchError:  # The job itself tells what is wrong with them.
            held = 0
        return applying(wildcards, attempt) + memory_on_attempt(round(held / 1e6), attempt)

    return asked


def _digest(suite: SuiteOptions) -> str:
    named = [sorted((*suite.tasks, *suite.texts)), suite.revisions]
    return hashlib.sha256(canonical(named).encode()).hexdigest()[:16]
