"""What the workflow's rules ask of an experiment's suites: where their tasks come from and what settles them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.downstream.local import task_files
from tokbench.workflow.canonical import canonical


@dataclass(frozen=True)
class SuiteTargets:
    """The files and parameters of the rules that make, fetch and import tasks."""

    experiment: Experiment

    def run_corpus(self, wildcards: Any) -> str:
        """Corpus whose pretraining and evaluation splits a model reads."""
        key = (wildcards.model, wildcards.variant, int(wildcards.size))
        return self._read.get(key) or self.experiment.corpus_of(wildcards.variant)

    @cached_property
    def _read(self) -> dict[tuple[str, str, int], str]:
        """Corpus that each language model reads; the runs do not contradict each other."""
        return {key: corpus for run in self.experiment.runs for key, corpus in self.experiment.corpora_of(run).items()}

    def run_corpus_folder(self, wildcards: Any) -> str:
        """Folder of the corpus on whose evaluation split a model is tested."""
        return f"<results>/corpus/{self.run_corpus(wildcards)}"

    def suite_recipe(self, wildcards: Any) -> str:
        """Options of a suite; its files are inputs, and their folder is not named here."""
        recipe = self.experiment.suites[wildcards.suite].model_dump(mode="json")
        recipe.pop("path")
        return canonical(recipe)

    def fetched_tasks(self, suite: str) -> str:
        """Where the data of a hub suite are kept once fetched: named by them, shared by all experiments."""
        options = self.experiment.suites[suite]
        named = [sorted((*options.tasks, *options.texts)), options.revisions]
        return f"<resources>/tasks/{hashlib.sha256(canonical(named).encode()).hexdigest()[:16]}"

    def fetch_tasks_recipe(self, wildcards: Any) -> str:
        """The hub suite that has this digest."""
        hub = [name for name, suite in self.experiment.suites.items() if suite.source == "hub"]
        name = next(name for name in hub if self.fetched_tasks(name).endswith(f"/{wildcards.digest}"))
        return canonical(self.experiment.suites[name])

    def hub_cache_of(self, wildcards: Any) -> list[str]:
        """Folder of the fetched tasks; none for a suite that is not of the hub."""
        return [self.fetched_tasks(wildcards.suite)] if self._source(wildcards) == "hub" else []

    def tasks_of(self, wildcards: Any) -> list[str]:
        """Folder of the offline or local tasks; none for a suite of the hub."""
        match self._source(wildcards):
            case "offline":
                return [f"<results>/tasks/{self.run_corpus(wildcards)}"]
            case "local":
                return [f"<results>/local_tasks/{wildcards.suite}"]
        return []

    def local_files(self, wildcards: Any) -> list[str]:
        """The files of a local suite."""
        return [str(path) for path in task_files(self.experiment.suites[wildcards.suite])]

    def import_tasks_recipe(self, wildcards: Any) -> str:
        """What of a local suite settles its tasks: their files, neither the settings of tests nor the folder."""
        suite = self.experiment.suites[wildcards.suite]
        files = {name: suite.local_task(name).model_dump(mode="json") for name in suite.tasks}
        return canonical({"source": "local", "tasks": suite.tasks, "files": files})

    def local_folder(self, wildcards: Any) -> str:
        """Folder of a local suite's files."""
        return str(self.experiment.suites[wildcards.suite].path)

    def _source(self, wildcards: Any) -> str:
        return self.experiment.suites[wildcards.suite].source
