"""What the rules ask of pre-tokenization: which corpora are counted, and by what code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.pretokenization import schemes
from tokbench.workflow.fingerprint import fingerprint


@dataclass(frozen=True)
class Pretokenization:
    """The counting of one experiment's corpora."""

    experiment: Experiment

    def source(self, wildcards: Any) -> str:
        """Fingerprint of counting and of the scheme; of merging, too, because the counts of shards are not kept."""
        return fingerprint(
            "tokbench.commands.count", "tokbench.commands.merge_counts", schemes[wildcards.scheme].module
        )

    @property
    def of_text(self) -> str:
        """The corpora with documents, as a pattern."""
        return _either(name for name, corpus in self.experiment.corpora.items() if not corpus.counted)

    @property
    def of_counts(self) -> str:
        """The corpora that are counts alone, as a pattern."""
        return _either(name for name, corpus in self.experiment.corpora.items() if corpus.counted)


def _either(names: Iterable[str]) -> str:
    """A pattern that matches these names; nothing where there are none."""
    return "|".join(names) or "(?!)"
