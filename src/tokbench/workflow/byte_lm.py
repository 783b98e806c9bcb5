"""What the rules ask of an experiment's byte language models."""

from dataclasses import dataclass
from typing import Any

from tokbench.byte_lm.options import ByteNgramOptions
from tokbench.config.experiment import Experiment
from tokbench.workflow.canonical import canonical
from tokbench.workflow.fingerprint import fingerprint


@dataclass(frozen=True)
class ByteLms:
    """The byte language models of one experiment; wildcards name one."""

    experiment: Experiment

    def training_recipe(self, wildcards: Any) -> str:
        """Options, those that only scoring reads set to fixed values."""
        options = self.experiment.byte_lms[wildcards.byte_lm]
        if isinstance(options, ByteNgramOptions):
            return canonical(options)
        return canonical(options.model_copy(update={"stride": options.context, "score_batch": 1}))

    def recipe(self, wildcards: Any) -> str:
        """Options."""
        return canonical(self.experiment.byte_lms[wildcards.byte_lm])

    def training_source(self, wildcards: Any) -> str:
        """Fingerprint of what trains a model of this kind."""
        return fingerprint("tokbench.commands.train_byte_lm", self._kind(wildcards, "tokbench.byte_lm.train"))

    def source(self, wildcards: Any) -> str:
        """Fingerprint of what scores with a model of this kind."""
        return fingerprint("tokbench.commands.score_bytes", self._kind(wildcards, "tokbench.byte_lm.score"))

    def _kind(self, wildcards: Any, neural: str) -> str:
        counted = isinstance(self.experiment.byte_lms[wildcards.byte_lm], ByteNgramOptions)
        return "tokbench.byte_lm.ngram" if counted else neural
