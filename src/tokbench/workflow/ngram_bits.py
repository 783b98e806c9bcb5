"""What the rules ask of an experiment's token n-gram models."""

from dataclasses import dataclass

from tokbench.config.experiment import Experiment
from tokbench.intrinsic.ngram_options import NgramBitsOptions
from tokbench.workflow.statistics import Built, Measured, all_measured, all_tokenizers


@dataclass(frozen=True)
class NgramModels:
    """The token n-gram models of one experiment's tokenizers, where it asks for them."""

    experiment: Experiment

    @property
    def options(self) -> NgramBitsOptions:
        """What is asked of them."""
        return self.experiment.ngram_bits or NgramBitsOptions()

    @property
    def budgets(self) -> list[str]:
        """Bytes that they are trained on, as flags."""
        return [word for size in self.options.training_bytes or () for word in ("--training-bytes", str(size))]

    @property
    def tokenizers(self) -> list[Built]:
        """The tokenizers that have them: all, or none."""
        return [] if self.experiment.ngram_bits is None else all_tokenizers(self.experiment)

    @property
    def tokenizers_on_others(self) -> list[Measured]:
        """Those that have them on corpora beside their own."""
        return [] if self.experiment.ngram_bits is None else all_measured(self.experiment)
