"""Parameters, inputs and resources of the rules for language models, suites and translation models."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size, TranslationRuns
from tokbench.config.targets import TrainedTranslation, all_translations
from tokbench.errors import TokbenchError
from tokbench.evaluation.local_tasks import task_files
from tokbench.evaluation.offline_tasks import examples_of
from tokbench.evaluation.suites import SuiteOptions
from tokbench.models.memory import (
    ON_GPU,
    documents_memory,
    lm_applying_memory,
    lm_training_memory,
    lm_training_operations,
    lm_training_seconds,
    on_processor,
    pairs_memory,
    translation_parameters,
    translation_training_memory,
)
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.translation.options import OF_SEARCH, TranslationOptions
from tokbench.options import canonical
from tokbench.tokenizer.folder import OWN
from tokbench.workflow.corpora import shard_names
from tokbench.workflow.resources import (
    MAX_RUNTIME,
    OVERHEAD,
    Request,
    estimated_runtime,
    memory_on_attempt,
    runtime_on_attempt,
)
from tokbench.workflow.shell import flags

PACKED_AT_ONCE = 16
"""Maximum shards that one job encodes and packs. More shards are encoded in parts by parallel jobs, and packed by one
job per slice of the document order with about the same amount of text."""
SEQUENCES = 16
"""Sequences that evaluation scores at a time."""
LARGE = 200_000
"""Assumed vocabulary size of external tokenizers, whose size is not known before they are read; the size of the largest
common ones."""


@dataclass(frozen=True)
class Models:
    """The language models of one experiment; wildcards name a model, a variant and a vocabulary size."""

    experiment: Experiment

    def recipe(self, wildcards: Any) -> str:
        """Return the options, without the hardware for training."""
        return self._recipes[wildcards.model]

    def corpus(self, wildcards: Any) -> str:
        """Return the corpus whose pretraining and evaluation splits the model reads."""
        key = (wildcards.model, wildcards.variant, OWN if wildcards.size == OWN else int(wildcards.size))
        return self._corpora_read.get(key) or self.experiment.corpus_of(wildcards.variant)

    def unsliced_corpus(self, wildcards: Any) -> list[str]:
        """Return the corpus that one job packs; empty if it is packed in slices."""
        return [] if self.slices(wildcards) else [self.corpus(wildcards)]

    def packed_from(self, wildcards: Any, input: Any) -> list[str]:
        """Return the command-line arguments for packing: slices, or the shards of the pretraining split."""
        if self.slices(wildcards):
            return [str(path) for path in input.slices]
        return self._paths(input, self._shards(wildcards))

    def parts(self, wildcards: Any) -> list[str]:
        """Return the names of the parts in which the shards are encoded; there are as many as slices."""
        return self.slices(wildcards)

    def shards_of_part(self, wildcards: Any, input: Any) -> list[str]:
        """Return the shards of the pretraining split that one job encodes."""
        first = int(wildcards.part) * PACKED_AT_ONCE
        return self._paths(input, self._shards(wildcards)[first : first + PACKED_AT_ONCE])

    def slices(self, wildcards: Any) -> list[str]:
        """Return the names of the slices in which the text is packed; empty if one job packs it."""
        shards = len(self._shards(wildcards))
        return [] if shards <= PACKED_AT_ONCE else [f"{number:04}" for number in range(-(-shards // PACKED_AT_ONCE))]

    def order(self, wildcards: Any) -> list[str]:
        """Return the options of the order of documents and of its slices, as flags."""
        options = self._options(wildcards)
        flags = {"seed": options.seed, "second-phase": options.second_phase, "slices": len(self.slices(wildcards))}
        return [text for name, value in flags.items() if value is not None for text in (f"--{name}", repr(value))]

    def length(self, wildcards: Any) -> int:
        """Return the tokens per packed sequence."""
        return self._options(wildcards).max_seq_len

    def seed(self, wildcards: Any) -> int:
        """Return the seed of the order of documents."""
        return self._options(wildcards).seed

    def text_budget(self, wildcards: Any) -> list[str]:
        """Return the text budget and the second phase as flags; empty if a recipe has neither."""
        options = self._options(wildcards)
        flags = {"text-bytes": options.text_bytes, "epochs": options.epochs, "second-phase": options.second_phase}
        return [text for name, value in flags.items() if value is not None for text in (f"--{name}", repr(value))]

    def nodes(self, wildcards: Any) -> int:
        """Return the number of machines that train the model."""
        return self._options(wildcards).resources.nodes

    def processes_per_node(self, wildcards: Any) -> int:
        """Return the number of processes on each machine."""
        return self._options(wildcards).resources.processes_per_node

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs for training on one node, one per process; 0 for several nodes, which request them
        per node."""
        options = self._options(wildcards)
        one_node = options.resources.nodes == 1 and not on_processor(options)
        return options.resources.processes_per_node if one_node else 0

    def gpus_of_each_node(self, wildcards: Any) -> str:
        """Return the GPUs per node as a generic resource of SLURM, for several nodes; empty for one node."""
        options = self._options(wildcards)
        several = options.resources.nodes > 1 and not on_processor(options)
        return f"gpu:{options.resources.processes_per_node}" if several else ""

    def testing_gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs to apply the model: 1, or 0 on processors."""
        return int(not on_processor(self._options(wildcards)))

    def threads(self, wildcards: Any) -> int:
        """Return the threads of matrix products of all processes on a node."""
        options = self._options(wildcards)
        return options.cpu_threads * options.resources.processes_per_node

    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the MB of host memory that training requests on each node."""
        options = self._options(wildcards)
        if options.resources.mem_mb is not None:
            return memory_on_attempt(options.resources.mem_mb, attempt)
        return _requested_memory(lm_training_memory(options, vocabulary_of(wildcards.size)), attempt)

    def applying_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the MB of host memory that evaluation requests."""
        size = lm_applying_memory(self._options(wildcards), vocabulary_of(wildcards.size), SEQUENCES)
        return _requested_memory(size, attempt)

    def training_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the minutes that training requests: 1.5 times the estimate, at most two days.

        A training that needs longer is continued from its checkpoint by the next attempt. With a budget of text, the
        estimate needs the packed sequences; before they exist, two days are requested.
        """
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
        """Return the device on which the model is tested, which is that of its training."""
        return str(self._options(wildcards).device)

    @cached_property
    def _recipes(self) -> dict[str, str]:
        return {name: canonical(options.recipe()) for name, options in self.experiment.models.items()}

    @cached_property
    def _corpora_read(self) -> dict[tuple[str, str, Size], str]:
        """Corpus that each language model reads; runs do not contradict each other."""
        return {key: corpus for run in self.experiment.runs for key, corpus in self.experiment.corpora_of(run).items()}

    def _options(self, wildcards: Any) -> ModelOptions:
        return self.experiment.models[wildcards.model]

    def _shards(self, wildcards: Any) -> list[str]:
        """Return the names of the shards of the pretraining split."""
        return shard_names(self.experiment, self.corpus(wildcards))

    def _paths(self, input: Any, shards: list[str]) -> list[str]:
        return [f"{input.corpus[0]}/pretraining/{shard}.parquet" for shard in shards]


def vocabulary_of(size: Size | str) -> int:
    """Return the size of a vocabulary that does not exist yet, to estimate the needs of its models."""
    return LARGE if size == OWN else int(size)


def _operations(options: ModelOptions, packed: Path) -> float | None:
    """Return the floating-point operations of a training on packed sequences; None if these do not exist."""
    from tokbench.models.pretraining.phases import read_phases

    try:
        return sum(phase.course.flops for phase in read_phases(options, packed))
    except TokbenchError:  # The job itself reports the error.
        return None


def _requested_memory(size: float, attempt: int) -> int:
    """Return the MB that a job requests for this number of bytes."""
    return memory_on_attempt(OVERHEAD + round(size / 1e6), attempt)


@dataclass(frozen=True)
class Suites:
    """The suites of one experiment; wildcards name one, or the digest of a downloaded one."""

    experiment: Experiment

    def source(self, wildcards: Any) -> str:
        """Return the source of the tasks: ``offline``, ``local`` or ``hub``."""
        return self._suite(wildcards).source

    def recipe(self, wildcards: Any) -> str:
        """Return the options. The files of a local suite are inputs of the rule, and their folder is not part of it."""
        return self._recipes[wildcards.suite]

    def digest(self, wildcards: Any) -> str:
        """Return the digest of a hub suite's downloads, so that experiments share them."""
        return _digest(self._suite(wildcards))

    def fetch_recipe(self, wildcards: Any) -> str:
        """Return the recipe of the hub suite with this digest."""
        hub = (suite for suite in self.experiment.suites.values() if suite.source == "hub")
        return canonical(next(suite for suite in hub if _digest(suite) == wildcards.digest))

    def local_files(self, wildcards: Any) -> list[str]:
        """Return the files of a local suite."""
        return [str(path) for path in task_files(self._suite(wildcards))]

    def local_folder(self, wildcards: Any) -> str:
        """Return the folder of these files."""
        return str(self._suite(wildcards).path)

    def import_recipe(self, wildcards: Any) -> str:
        """Return the recipe of a local suite's tasks: their files, and the number of examples in prompts."""
        suite = self._suite(wildcards)
        files = {name: suite.local_task(name).model_dump(mode="json") for name in suite.tasks}
        needed = {name: {"num_fewshot": number} for name in suite.tasks if (number := suite.settings(name).num_fewshot)}
        overrides = {"overrides": needed} if needed else {}
        return canonical({"source": "local", "tasks": suite.tasks, "files": files, **overrides})

    def examples(self, wildcards: Any) -> list[str]:
        """Return the number of examples in prompts of a corpus's offline tasks, as a flag; empty if it is 0 for all."""
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
    """Return every named input as a flag, with the model replaced by its checkpoint."""
    inputs = {name: paths for name, paths in input.items() if name != "model"}
    return ["--model", f"{input.model}/checkpoints/{wildcards.share}", *flags(wildcards, inputs)]


def evaluating_memory(applying: Request) -> Callable[[Any, Any, int], int]:
    """Return the request of evaluation in MB: that of its model, plus the documents after they exist.

    Args:
        applying: the request of the model.
    """

    def request(wildcards: Any, input: Any, attempt: int) -> int:
        try:
            size = documents_memory(sorted(Path(str(input.corpus)).glob("evaluation/*.parquet")))
        except TokbenchError:  # The job itself reports the error.
            size = 0
        return applying(wildcards, attempt) + memory_on_attempt(round(size / 1e6), attempt)

    return request


def _digest(suite: SuiteOptions) -> str:
    content = [sorted((*suite.tasks, *suite.texts)), suite.revisions]
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]


PAIRS = 1000
"""MB for pairs that do not exist yet, and for tests."""


@dataclass(frozen=True)
class Translations:
    """The translation models of one experiment; wildcards are the fields of :class:`TrainedTranslation`."""

    experiment: Experiment

    @cached_property
    def entries(self) -> dict[TrainedTranslation, TranslationRuns]:
        """All configured models, each with the first entry that names it."""
        return all_translations(self.experiment)

    def source_size(self, wildcards: Any) -> Size | str:
        """Return the size of the source's tokenizer; ``own`` if it is external."""
        return self._size(wildcards.variant, wildcards.size)

    def target_size(self, wildcards: Any) -> Size | str:
        """Return the size of the target's tokenizer; ``own`` if it is external."""
        return self._size(wildcards.target_variant, wildcards.size)

    def training_recipe(self, wildcards: Any) -> str:
        """Return the options, with those of the search set to fixed values."""
        options = self._options(wildcards)
        defaults = TranslationOptions()
        return canonical(options.model_copy(update={name: getattr(defaults, name) for name in OF_SEARCH}))

    def recipe(self, wildcards: Any) -> str:
        """Return the options."""
        return canonical(self._options(wildcards))

    def scoring_options(self, wildcards: Any) -> list[str]:
        """Return the options of scoring as flags."""
        run = next(run for target, run in self.entries.items() if target.path == _path(wildcards))
        return ["--tokenize", run.bleu_words, *([] if run.comet is None else ["--comet", str(run.comet)])]

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs that the recipe requests: 1, or 0 on processors."""
        return int(self._options(wildcards).device != "cpu")

    def threads(self, wildcards: Any) -> int:
        """Return the threads of matrix products."""
        return self._options(wildcards).cpu_threads

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB of host memory that training requests, with its pairs after they exist; the search needs
        less."""
        options = self._options(wildcards)
        pairs = PAIRS + round(_pairs_memory(Path(str(input.corpus))) / 1e6)
        if self.gpus(wildcards):
            return memory_on_attempt(OVERHEAD + pairs + round(ON_GPU / 1e6), attempt)
        training = translation_training_memory(options, *self._vocabularies(wildcards), joint=_joint(wildcards))
        return memory_on_attempt(OVERHEAD + pairs + round(training / 1e6), attempt)

    def time(self, wildcards: Any, attempt: int) -> int:
        """Return the minutes that training requests.

        Its duration is not known before its batches are made. The next attempt continues from its checkpoint.
        """
        return runtime_on_attempt(MAX_RUNTIME, attempt)

    def parameters(self, wildcards: Any) -> int:
        """Return the number of trained parameters, from the configured sizes of its vocabularies."""
        return translation_parameters(self._options(wildcards), *self._vocabularies(wildcards), joint=_joint(wildcards))

    def _vocabularies(self, wildcards: Any) -> tuple[int, int]:
        source, target = (self._size(name, wildcards.size) for name in (wildcards.variant, wildcards.target_variant))
        return vocabulary_of(source), vocabulary_of(target)

    def _size(self, variant: str, size: Size | str) -> Size | str:
        return OWN if variant in self.experiment.external else size

    def _options(self, wildcards: Any) -> TranslationOptions:
        return self.experiment.translation_models[wildcards.model]


def _joint(wildcards: Any) -> bool:
    return bool(wildcards.variant == wildcards.target_variant)


def _pairs_memory(corpus: Path) -> int:
    """Return the bytes of memory for the training pairs; 0 if they do not exist yet."""
    try:
        return sum(
            pairs_memory(split) for split in (corpus / "train.parquet", corpus / "dev.parquet") if split.is_file()
        )
    except TokbenchError:  # The job itself reports the error.
        return 0


def _path(wildcards: Any) -> str:
    return "/".join(getattr(wildcards, name) for name in TrainedTranslation._fields)
