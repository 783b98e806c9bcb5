"""What the rule of the leaderboard asks of an experiment: which corpora it tells the checksums of."""

from dataclasses import dataclass

from tokbench.config.experiment import Experiment
from tokbench.pretokenization import pretokenization_of


@dataclass(frozen=True)
class Checked:
    """The corpora of one experiment that its tokenizers are built from and measured on."""

    experiment: Experiment

    @property
    def documents(self) -> list[str]:
        """Those with documents."""
        return [name for name in self._used if not self.experiment.corpora[name].counted]

    @property
    def counts(self) -> list[str]:
        """Files of those that are counts alone, below the folder of counts and without their ending."""
        found = (
            f"{self.experiment.corpus_of(name)}/{split}/{pretokenization_of(variant.pretokenization).slug}"
            for name, variant in self.experiment.built.items()
            if self.experiment.corpora[self.experiment.corpus_of(name)].counted
            for split in ("tokenizer", "evaluation")
        )
        return list(dict.fromkeys(found))

    @property
    def _used(self) -> list[str]:
        return list(dict.fromkeys(self.experiment.corpus_of(name) for name in self.experiment.variants))
