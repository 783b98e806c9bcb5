"""What the rules ask of an experiment's byte language models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.byte_lm.needs import BASE, reading_room, scoring_room, training_room
from tokbench.byte_lm.options import ByteNgramOptions
from tokbench.config.experiment import Experiment
from tokbench.workflow.attempts import BESIDE, more_memory
from tokbench.workflow.canonical import canonical
from tokbench.workflow.fingerprint import fingerprint

MEMORY = 4000
"""MB that training and scoring ask for at least: there is room for documents beside a model."""
ROOM = 2e8
"""Bytes for documents, and for what differs from what was measured."""


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

    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """MB that training asks for: those of a model on a GPU where it takes one that is there."""
        options = self.experiment.byte_lms[wildcards.byte_lm]
        if isinstance(options, ByteNgramOptions):
            return more_memory(MEMORY, attempt)
        return _asked(training_room(options, options.device != "cpu"), attempt)

    def scoring_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """MB that scoring asks for; of n-grams by their number, once they are counted."""
        options = self.experiment.byte_lms[wildcards.byte_lm]
        if isinstance(options, ByteNgramOptions):
            return _asked(reading_room(Path(str(input.model))), attempt)
        return _asked(scoring_room(options, options.device != "cpu"), attempt)

    def training_source(self, wildcards: Any) -> str:
        """Fingerprint of what trains a model of this kind."""
        return fingerprint("tokbench.commands.train_byte_lm", self._kind(wildcards, "tokbench.byte_lm.train"))

    def source(self, wildcards: Any) -> str:
        """Fingerprint of what scores with a model of this kind."""
        return fingerprint("tokbench.commands.score_bytes", self._kind(wildcards, "tokbench.byte_lm.score"))

    def _kind(self, wildcards: Any, neural: str) -> str:
        counted = isinstance(self.experiment.byte_lms[wildcards.byte_lm], ByteNgramOptions)
        return "tokbench.byte_lm.ngram" if counted else neural


def _asked(room: float, attempt: int) -> int:
    """Bytes beside what is imported as the MB that a job asks for."""
    return more_memory(max(MEMORY, BESIDE + round((BASE + ROOM + room) / 1e6)), attempt)
