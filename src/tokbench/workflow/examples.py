"""What the rules ask of the sentences that a report shows: which tokenizers cut them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tokbench.config.experiment import Experiment
from tokbench.tokenizer_folder import OWN
from tokbench.workflow.canonical import canonical
from tokbench.workflow.statistics import Built

TOKENIZERS = 12
"""Tokenizers that a sentence is shown of: the baseline's, then the first of the configuration."""
CORPORA = 24
"""Corpora of which sentences are shown, the first of the configuration."""


@dataclass(frozen=True)
class Examples:
    """The sentences of one experiment."""

    experiment: Experiment

    @property
    def corpora(self) -> list[str]:
        """Corpora of text that variants are built from."""
        built = dict.fromkeys(map(self.experiment.corpus_of, self.experiment.variants))
        return [corpus for corpus in built if not self.experiment.corpora[corpus].counted][:CORPORA]

    @property
    def any(self) -> bool:
        """Whether there is a sentence to show."""
        return bool(self.corpora or self.experiment.report.examples)

    def of(self, corpus: str) -> list[Built]:
        """Tokenizers that cut the sentences of a corpus."""
        own = (one for one in self.experiment.variants if self.experiment.corpus_of(one) == corpus)
        return self._first([self.experiment.baselines()[corpus], *own])

    @property
    def shown(self) -> list[Built]:
        """Tokenizers that cut the user's sentences."""
        if not self.experiment.report.examples:
            return []
        return self._first([*self.experiment.baselines().values(), *self.experiment.variants])

    @property
    def tokenizers(self) -> list[Built]:
        """All of them."""
        return list(dict.fromkeys([*self.shown, *(one for corpus in self.corpora for one in self.of(corpus))]))

    @property
    def recipe(self) -> str:
        """Which tokenizers cut what."""
        return canonical(
            {
                "examples": self.experiment.report.examples,
                "shown": _named(self.shown),
                "corpora": {corpus: _named(self.of(corpus)) for corpus in self.corpora},
            }
        )

    @property
    def shards(self) -> list[str]:
        """The first shard of each corpus's evaluation split, as flags of the command line."""
        folder = f"{self.experiment.folder}/corpus"
        return [
            word
            for corpus in self.corpora
            for word in ("--shard", f"{corpus}={folder}/{corpus}/evaluation/0000.parquet")
        ]

    def _first(self, variants: Iterable[str]) -> list[Built]:
        """Variants at the largest size of the first that is built, or at their own largest where they lack that."""
        names = list(dict.fromkeys(variants))[:TOKENIZERS]
        built = {
            name: self.experiment.built[name].sizes or self.experiment.sizes
            for name in names
            if name in self.experiment.built
        }
        wanted = max(next(iter(built.values()), [0]))
        largest = {name: wanted if wanted in sizes else max(sizes) for name, sizes in built.items()}
        return [Built(name, largest.get(name, OWN)) for name in names]


def _named(tokenizers: Iterable[Built]) -> list[str]:
    return [f"{one.variant}/{one.size}" for one in tokenizers]
