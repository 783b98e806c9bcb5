"""What the rules ask of an experiment's language models."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.pretraining.options import ModelOptions
from tokbench.workflow.canonical import canonical


@dataclass(frozen=True)
class Models:
    """The language models of one experiment; wildcards name a model, a variant and a vocabulary size."""

    experiment: Experiment

    def recipe(self, wildcards: Any) -> str:
        """Options."""
        return canonical(self._options(wildcards))

    def corpus(self, wildcards: Any) -> str:
        """Corpus whose pretraining and evaluation splits the model reads."""
        key = (wildcards.model, wildcards.variant, int(wildcards.size))
        return self._read.get(key) or self.experiment.corpus_of(wildcards.variant)

    def length(self, wildcards: Any) -> int:
        """Tokens of a packed sequence."""
        return self._options(wildcards).max_seq_len

    def gpus(self, wildcards: Any) -> int:
        """GPUs that the recipe asks for."""
        return int(self._options(wildcards).device in ("cuda", "gpu"))

    def device(self, wildcards: Any) -> str:
        """Where the model is tested: where it was trained."""
        return str(self._options(wildcards).device)

    @cached_property
    def _read(self) -> dict[tuple[str, str, int], str]:
        """Corpus that each language model reads; the runs do not contradict each other."""
        return {key: corpus for run in self.experiment.runs for key, corpus in self.experiment.corpora_of(run).items()}

    def _options(self, wildcards: Any) -> ModelOptions:
        return self.experiment.models[wildcards.model]
