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

MERGED_AT_ONCE = 16
"""Files of counts that one job merges: 256 shards are merged by 16 jobs side by side and one that reads what those have
made, where rare pre-tokens of many shards are added up already."""


@dataclass(frozen=True)
class Pretokenization:
    """The counting of one experiment's corpora."""

    experiment: Experiment

    def source(self, wildcards: Any) -> str:
        """Fingerprint of counting, merging and the pre-tokenization: the counts of shards are not kept."""
        return fingerprint(
            "tokbench.corpus.read:read_source",
            "tokbench.counting.count:count_languages",
            "tokbench.counting.languages:write_languages",
            "tokbench.counting.languages:merge_files",
            "tokbench.counting.within:count_within",
            "tokbench.counting.within:merge_within",
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

    def parts(self, wildcards: Any) -> list[str]:
        """What the counts of a split are merged from, below its folder and without their ending: shards, or parts."""
        shards = self._shards(wildcards)
        if len(shards) <= MERGED_AT_ONCE:
            return shards
        return [f"part/{part:04}" for part in range(-(-len(shards) // MERGED_AT_ONCE))]

    def shards_of_part(self, wildcards: Any) -> list[str]:
        """The shards that one part is merged from."""
        first = int(wildcards.part) * MERGED_AT_ONCE
        return self._shards(wildcards)[first : first + MERGED_AT_ONCE]

    def _shards(self, wildcards: Any) -> list[str]:
        return shard_names(self.experiment, wildcards.corpus)

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
