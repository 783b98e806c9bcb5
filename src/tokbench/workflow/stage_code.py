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

    def of(self, name: str) -> Callable[[Any], str]:
        """Return the parameter function of a stage's rule: the fingerprint of its code.

        A function is called only for jobs of the run, so the process of a job computes one fingerprint.
        """
        stage = stages[name]
        return lambda wildcards: fingerprint(*stage.code(self.experiment, wildcards))
