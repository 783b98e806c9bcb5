"""What the rules ask of an experiment's translation models."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size
from tokbench.config.translations import Translation
from tokbench.errors import TokbenchError
from tokbench.model_memory import ON_GPU, pairs_memory, translation_parameters, translation_training_memory
from tokbench.tokenizer_folder import OWN
from tokbench.translation.options import OF_SEARCH, TranslationOptions
from tokbench.workflow.canonical import canonical
from tokbench.workflow.pretraining import vocabulary_of
from tokbench.workflow.resources import MAX_RUNTIME, OVERHEAD, memory_on_attempt, runtime_on_attempt

PAIRS = 1000
"""MB for pairs that are not there yet, and for tests."""


class TrainedTranslation(NamedTuple):
    """A translation model."""

    model: str
    parallel: str
    source: str
    target: str
    variant: str
    target_variant: str
    size: Size

    @property
    def path(self) -> str:
        """Where its files lie, below their stage's folder."""
        return "/".join(map(str, self))


class TestedTranslation(NamedTuple):
    """A translation model on a test."""

    path: str
    test: str


@dataclass(frozen=True)
class Translations:
    """The translation models of one experiment; wildcards name all that :class:`TrainedTranslation` has."""

    experiment: Experiment

    @cached_property
    def trained(self) -> dict[TrainedTranslation, Translation]:
        """Every model that is asked for, with the first entry that does."""
        found: dict[TrainedTranslation, Translation] = {}
        for run in self.experiment.translations:
            for model in run.models:
                for parallel in run.corpora:
                    for pair in run.pairs():
                        for size in self.experiment.sizes_between(run, *pair):
                            one = TrainedTranslation(model, parallel, run.source, run.target, *pair, size)
                            found.setdefault(one, run)
        return found

    @property
    def tested(self) -> list[TestedTranslation]:
        """Every model on every test of its corpus."""
        corpora = self.experiment.parallel_corpora
        return [TestedTranslation(one.path, test) for one in self.trained for test in corpora[one.parallel].tests]

    def source_size(self, wildcards: Any) -> Size | str:
        """Size of the source's tokenizer: its own where it was made elsewhere."""
        return self._size(wildcards.variant, wildcards.size)

    def target_size(self, wildcards: Any) -> Size | str:
        """Size of the target's."""
        return self._size(wildcards.target_variant, wildcards.size)

    def training_recipe(self, wildcards: Any) -> str:
        """Options but those of the search, which are set to fixed values."""
        options = self._options(wildcards)
        defaults = TranslationOptions()
        return canonical(options.model_copy(update={name: getattr(defaults, name) for name in OF_SEARCH}))

    def recipe(self, wildcards: Any) -> str:
        """Options."""
        return canonical(self._options(wildcards))

    def scoring(self, wildcards: Any) -> list[str]:
        """How translations are scored, as flags of the command line."""
        run = next(run for one, run in self.trained.items() if one.path == _path(wildcards))
        return ["--tokenize", run.bleu_words, *([] if run.comet is None else ["--comet", str(run.comet)])]

    def gpus(self, wildcards: Any) -> int:
        """GPUs that the recipe asks for: one, if only there is one."""
        return int(self._options(wildcards).device != "cpu")

    def threads(self, wildcards: Any) -> int:
        """Threads of matrix products."""
        return self._options(wildcards).cpu_threads

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """MB of main memory that training asks for, with its pairs once they are there; the search takes less."""
        options = self._options(wildcards)
        pairs = PAIRS + round(_held(Path(str(input.corpus))) / 1e6)
        if self.gpus(wildcards):
            return memory_on_attempt(OVERHEAD + pairs + round(ON_GPU / 1e6), attempt)
        own = translation_training_memory(options, *self._vocabularies(wildcards), joint=_joint(wildcards))
        return memory_on_attempt(OVERHEAD + pairs + round(own / 1e6), attempt)

    def time(self, wildcards: Any, attempt: int) -> int:
        """Minutes that training asks for: how long it takes is not known before its batches are made, and the next
        attempt goes on from its checkpoint."""
        return runtime_on_attempt(MAX_RUNTIME, attempt)

    def parameters(self, wildcards: Any) -> int:
        """Parameters that the model learns, as far as its vocabularies are known before they are made."""
        return translation_parameters(self._options(wildcards), *self._vocabularies(wildcards), joint=_joint(wildcards))

    def keeps_best(self, wildcards: Any) -> bool:
        """Whether training stores the best weights beside the last ones."""
        options = self._options(wildcards)
        return options.select == "best" and self.experiment.parallel_corpora[wildcards.parallel].dev is not None

    def _vocabularies(self, wildcards: Any) -> tuple[int, int]:
        source, target = (self._size(name, wildcards.size) for name in (wildcards.variant, wildcards.target_variant))
        return vocabulary_of(source), vocabulary_of(target)

    def _size(self, variant: str, size: Size | str) -> Size | str:
        return OWN if variant in self.experiment.elsewhere else size

    def _options(self, wildcards: Any) -> TranslationOptions:
        return self.experiment.translation_models[wildcards.model]


def _joint(wildcards: Any) -> bool:
    return bool(wildcards.variant == wildcards.target_variant)


def _held(corpus: Path) -> int:
    """Bytes in which the pairs of training are held; 0 while they are not there."""
    try:
        return sum(
            pairs_memory(split) for split in (corpus / "train.parquet", corpus / "dev.parquet") if split.is_file()
        )
    except TokbenchError:  # The job itself tells what is wrong with them.
        return 0


def _path(wildcards: Any) -> str:
    return "/".join(getattr(wildcards, name) for name in TrainedTranslation._fields)
