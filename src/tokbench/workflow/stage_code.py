"""Fingerprints of the code of stages, for the rules of the workflow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.stage import stages
from tokbench.workflow.fingerprint import fingerprint


@dataclass(frozen=True)
class StageCode:
    """The code of the stages in one experiment, which chooses methods."""

    experiment: Experiment

    def of(self, name: str) -> str | Callable[[Any], str]:
        """Return the fingerprint of a stage's code, or the parameter function of its rule if it depends on the job."""
        stage = stages[name]
        if not stage.depends_on_wildcards:
            return fingerprint(*stage.code(self.experiment, None))
        return lambda wildcards: fingerprint(*stage.code(self.experiment, wildcards))
