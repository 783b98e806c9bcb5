"""What the rules ask of an experiment's language models."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size
from tokbench.errors import TokbenchError
from tokbench.model_memory import (
    lm_applying_memory,
    lm_training_memory,
    lm_training_operations,
    lm_training_seconds,
    on_processor,
)
from tokbench.pretraining.options import ModelOptions
from tokbench.tokenizer_folder import OWN
from tokbench.workflow.canonical import canonical
from tokbench.workflow.corpus import shard_names
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.resources import MAX_RUNTIME, OVERHEAD, estimated_runtime, memory_on_attempt, runtime_on_attempt

PACKED_AT_ONCE = 16
"""Shards that one job encodes and packs by itself. More are encoded by jobs of their own, side by side, and packed by
one for each slice of the order that has about as much text."""
SEQUENCES = 16
"""Sequences that evaluation scores at a time."""
LARGE = 200_000
"""Tokens that are reckoned with of a tokenizer made elsewhere, whose number is not known before it is read: as many as
the largest have that people use."""


@dataclass(frozen=True)
class Models:
    """The language models of one experiment; wildcards name a model, a variant and a vocabulary size."""

    experiment: Experiment

    def recipe(self, wildcards: Any) -> str:
        """Options, but for what training asks of machines."""
        return self._recipes[wildcards.model]

    def corpus(self, wildcards: Any) -> str:
        """Corpus whose pretraining and evaluation splits the model reads."""
        key = (wildcards.model, wildcards.variant, OWN if wildcards.size == OWN else int(wildcards.size))
        return self._read.get(key) or self.experiment.corpus_of(wildcards.variant)

    def packed_whole(self, wildcards: Any) -> list[str]:
        """The corpus that one job packs; none where it is packed in slices."""
        return [] if self.slices(wildcards) else [self.corpus(wildcards)]

    def packed_from(self, wildcards: Any, input: Any) -> list[str]:
        """What is packed, for the command line: slices, or of a corpus the shards of the pretraining split."""
        if self.slices(wildcards):
            return [str(each) for each in input.slices]
        return [f"{input.corpus[0]}/pretraining/{shard}.parquet" for shard in self.shards(wildcards)]

    def shards(self, wildcards: Any) -> list[str]:
        """Names of the shards of the pretraining split."""
        return shard_names(self.experiment, self.corpus(wildcards))

    def slices(self, wildcards: Any) -> list[str]:
        """Names of the slices in which the text is packed; none where one job packs it."""
        shards = len(self.shards(wildcards))
        return [] if shards <= PACKED_AT_ONCE else [f"{each:04}" for each in range(-(-shards // PACKED_AT_ONCE))]

    def order(self, wildcards: Any) -> list[str]:
        """What decides the order of the documents and its slices, as flags of the command line."""
        options = self._options(wildcards)
        flags = {"seed": options.seed, "second-phase": options.second_phase, "slices": len(self.slices(wildcards))}
        return [text for name, value in flags.items() if value is not None for text in (f"--{name}", repr(value))]

    def packing_source(self, wildcards: Any) -> str:
        """Fingerprint of what packs; of what encodes and packs slices, too, because these are not kept."""
        stages = (
            "tokbench.tokenizer:Tokenizer",
            "tokbench.corpus.documents:read_documents",
            "tokbench.pretraining.encoded:encoded",
            "tokbench.pretraining.order:in_order",
        )
        if not self.slices(wildcards):
            return fingerprint(*stages, "tokbench.pretraining.pack:pack", "tokbench.pretraining.pack:pack_phases")
        return fingerprint(
            *stages,
            "tokbench.pretraining.sliced:write_tokens",
            "tokbench.pretraining.sliced:gather",
            "tokbench.pretraining.sliced:pack_slice",
            "tokbench.pretraining.pack:join",
        )

    def length(self, wildcards: Any) -> int:
        """Tokens of a packed sequence."""
        return self._options(wildcards).max_seq_len

    def seed(self, wildcards: Any) -> int:
        """Decides the order of the documents."""
        return self._options(wildcards).seed

    def text_budget(self, wildcards: Any) -> list[str]:
        """The budget of text and the second phase, as flags of the command line; none where a recipe has neither."""
        options = self._options(wildcards)
        flags = {"text-bytes": options.text_bytes, "epochs": options.epochs, "second-phase": options.second_phase}
        return [text for name, value in flags.items() if value is not None for text in (f"--{name}", repr(value))]

    def nodes(self, wildcards: Any) -> int:
        """Machines that train the model."""
        return self._options(wildcards).resources.nodes

    def processes_per_node(self, wildcards: Any) -> int:
        """Processes on each of them."""
        return self._options(wildcards).resources.processes_per_node

    def gpus(self, wildcards: Any) -> int:
        """GPUs that train the model on one node, one for each process; those of several are asked for by the node."""
        options = self._options(wildcards)
        one_node = options.resources.nodes == 1 and not on_processor(options)
        return options.resources.processes_per_node if one_node else 0

    def gpus_of_each_node(self, wildcards: Any) -> str:
        """GPUs of each of several nodes, in SLURM's form of a generic resource; nothing where there is one node."""
        options = self._options(wildcards)
        several = options.resources.nodes > 1 and not on_processor(options)
        return f"gpu:{options.resources.processes_per_node}" if several else ""

    def testing_gpus(self, wildcards: Any) -> int:
        """GPUs that apply the model: one, if only there is one."""
        return int(not on_processor(self._options(wildcards)))

    def threads(self, wildcards: Any) -> int:
        """Threads of matrix products, of all processes of a node."""
        options = self._options(wildcards)
        return options.cpu_threads * options.resources.processes_per_node

    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """MB of main memory that training asks for, on each node."""
        options = self._options(wildcards)
        if options.resources.mem_mb is not None:
            return memory_on_attempt(options.resources.mem_mb, attempt)
        return _asked(lm_training_memory(options, vocabulary_of(wildcards.size)), attempt)

    def applying_memory(self, wildcards: Any, attempt: int) -> int:
        """MB of main memory that evaluation asks for."""
        return _asked(lm_applying_memory(self._options(wildcards), vocabulary_of(wildcards.size), SEQUENCES), attempt)

    def training_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Minutes that training asks for: what it should take and half more, two days at most, in which it comes as far
        as it can: the next attempt goes on from its checkpoint. Of a budget of text the packed sequences tell how much
        that is, once they are there."""
        options = self._options(wildcards)
        if options.resources.runtime is not None:
            return options.resources.runtime
        operations = lm_training_operations(options, vocabulary_of(wildcards.size))
        if operations is None:
            operations = _operations(options, Path(str(input.packed)))
        if operations is None:
            return runtime_on_attempt(MAX_RUNTIME, attempt)
        return estimated_runtime(lm_training_seconds(options, operations), attempt)

    def device(self, wildcards: Any) -> str:
        """Where the model is tested: where it was trained."""
        return str(self._options(wildcards).device)

    @cached_property
    def _recipes(self) -> dict[str, str]:
        return {name: canonical(options.recipe()) for name, options in self.experiment.models.items()}

    @cached_property
    def _read(self) -> dict[tuple[str, str, Size], str]:
        """Corpus that each language model reads; the runs do not contradict each other."""
        return {key: corpus for run in self.experiment.runs for key, corpus in self.experiment.corpora_of(run).items()}

    def _options(self, wildcards: Any) -> ModelOptions:
        return self.experiment.models[wildcards.model]


def vocabulary_of(size: Size | str) -> int:
    """Tokens of a vocabulary that is still to be made, for what its models will take."""
    return LARGE if size == OWN else int(size)


def _operations(options: ModelOptions, packed: Path) -> float | None:
    """Floating-point operations of a training on packed sequences; None while they are not there."""
    from tokbench.pretraining.phases import read_phases

    try:
        return sum(phase.course.flops for phase in read_phases(options, packed))
    except TokbenchError:  # The job itself tells what is wrong with them.
        return None


def _asked(size: float, attempt: int) -> int:
    """Bytes as the MB that a job asks for."""
    return memory_on_attempt(OVERHEAD + round(size / 1e6), attempt)
