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
        return [name for name in self.experiment.measured_corpora() if not self.experiment.corpora[name].counted]

    @property
    def counts(self) -> list[str]:
        """Files of those that are counts alone, below the folder of counts and without their ending."""
        found = (
            f"{corpus}/{split}/{pretokenization_of(variant.pretokenization).slug}"
            for name, variant in self.experiment.built.items()
            for corpus in (self.experiment.corpus_of(name), *self.experiment.measured_on_of(name))
            if self.experiment.corpora[corpus].counted
            for split in (("tokenizer", "evaluation") if corpus == self.experiment.corpus_of(name) else ("evaluation",))
        )
        return list(dict.fromkeys(found))
