"""What the rules ask of an experiment's corpora."""

import hashlib
from dataclasses import dataclass
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.corpus.sources import FileSource, HubSource, files_of
from tokbench.workflow.canonical import canonical


@dataclass(frozen=True)
class Corpora:
    """The corpora of one experiment; wildcards name one, or the digest of a fetched one."""

    experiment: Experiment

    def digest(self, wildcards: Any) -> list[str]:
        """Names a hub corpus by its recipe, so that experiments share what was fetched; none for other corpora."""
        source = self.experiment.corpora[wildcards.corpus].source
        return [_digest(source)] if isinstance(source, HubSource) else []

    def fetch_recipe(self, wildcards: Any) -> str:
        """The hub source that has this digest."""
        sources = [corpus.source for corpus in self.experiment.corpora.values()]
        hub = (source for source in sources if isinstance(source, HubSource))
        return canonical(next(source for source in hub if _digest(source) == wildcards.digest))

    def files(self, wildcards: Any) -> list[str]:
        """The user's files that a corpus is read from."""
        source = self.experiment.corpora[wildcards.corpus].source
        return [str(path) for path in files_of(source)] if isinstance(source, FileSource) else []

    def recipe(self, wildcards: Any) -> str:
        """Source, splits, shards and seed; the files are inputs and not named here."""
        corpus = self.experiment.corpora[wildcards.corpus]
        recipe = corpus.model_dump(mode="json")
        if not isinstance(recipe["source"].get("path"), dict):
            recipe["source"].pop("path", None)
        return canonical({**recipe, "seed": self.experiment.seed})

    def shards(self, wildcards: Any) -> list[str]:
        """Names of the shards of each split."""
        return shard_names(self.experiment, wildcards.corpus)


def shard_names(experiment: Experiment, corpus: str) -> list[str]:
    """Names of the shards of each split of a corpus."""
    return [f"{shard:04}" for shard in range(experiment.corpora[corpus].shards)]


def _digest(source: HubSource) -> str:
    return hashlib.sha256(canonical(source).encode()).hexdigest()[:16]
