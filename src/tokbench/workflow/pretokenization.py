"""What the rules ask of pre-tokenization: which corpora are counted, and by what code."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.pretokenization import Pretokenization as Scheme
from tokbench.pretokenization import pretokenization_of
from tokbench.workflow.canonical import canonical_setting
from tokbench.workflow.corpus import shard_names
from tokbench.workflow.fingerprint import fingerprint

AT_ONCE = 16
"""Shards that one job counts, and files of counts that one job merges. Each shard of a larger corpus has a job."""


@dataclass(frozen=True)
class Pretokenization:
    """The counting of one experiment's corpora."""

    experiment: Experiment

    def source(self, wildcards: Any) -> str:
        """Fingerprint of counting, merging and the pre-tokenization: the counts of shards are not kept."""
        return fingerprint(
            "tokbench.corpus.text_files:read_files",
            "tokbench.counting.external_count:count_within",
            "tokbench.counting.external_count:merge_within",
            *self._scheme(wildcards).modules,
        )

    def setting(self, wildcards: Any) -> str:
        """The pre-tokenization that paths name, with its options."""
        return canonical_setting(self._scheme(wildcards))

    def _scheme(self, wildcards: Any) -> Scheme:
        return self._schemes.get(wildcards.scheme) or pretokenization_of(wildcards.scheme)

    @cached_property
    def _schemes(self) -> dict[str, Scheme]:
        """The pre-tokenizations of the variants that are built, by what paths call them."""
        chosen = [pretokenization_of(variant.pretokenization) for variant in self.experiment.built.values()]
        return {scheme.slug: scheme for scheme in chosen}

    def files(self, wildcards: Any, input: Any) -> list[str]:
        """The shards of a split."""
        return [f"{input.corpus}/{wildcards.split}/{shard}.parquet" for shard in self._shards(wildcards.corpus)]

    def parts(self, wildcards: Any) -> list[str]:
        """Names of the merged parts of a split."""
        return [f"{part:04}" for part in range(-(-len(self._shards(wildcards.corpus)) // AT_ONCE))]

    def shards_of_part(self, wildcards: Any) -> list[str]:
        """Names of the shards that one part is merged from."""
        first = int(wildcards.part) * AT_ONCE
        return self._shards(wildcards.corpus)[first : first + AT_ONCE]

    def _shards(self, corpus: str) -> list[str]:
        return shard_names(self.experiment, corpus)

    @property
    def counted_at_once(self) -> str:
        """A pattern of the corpora with few shards."""
        return _either(name for name in self._texts if len(self._shards(name)) <= AT_ONCE)

    @property
    def counted_by_shard(self) -> str:
        """A pattern of the corpora with many shards."""
        return _either(name for name in self._texts if len(self._shards(name)) > AT_ONCE)

    @property
    def imported(self) -> str:
        """A pattern of the corpora that are given as counts."""
        return _either(name for name in self.experiment.corpora if name not in self._texts)

    @property
    def _texts(self) -> list[str]:
        return [name for name, corpus in self.experiment.corpora.items() if not corpus.counted]


def _either(names: Iterable[str]) -> str:
    """A pattern that matches these names; nothing where there are none."""
    return "|".join(names) or "(?!)"
