"""What the rules ask of an experiment's variants: the three phases of each, and what its construction reads."""

from dataclasses import dataclass
from typing import Any

from tokbench.building import READERS
from tokbench.config.experiment import Experiment
from tokbench.config.sections import Variant, files_among
from tokbench.construction import Construction, constructions
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.segmentation import segmentations
from tokbench.workflow.canonical import canonical, canonical_setting
from tokbench.workflow.corpus import shard_names
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.resources import memory_for_counts


@dataclass(frozen=True)
class Variants:
    """The variants of one experiment; wildcards name one.

    What not every construction reads is a list, empty for a variant that does without.
    """

    experiment: Experiment

    def corpus(self, wildcards: Any) -> str:
        """Corpus whose tokenizer split builds the variant."""
        return self.experiment.corpus_of(wildcards.variant)

    def scheme(self, wildcards: Any) -> str:
        """Pre-tokenization, as paths call it."""
        return self._pretokenization(wildcards).slug

    def pretokenization(self, wildcards: Any) -> str:
        """Pre-tokenization with its options."""
        return canonical_setting(self._pretokenization(wildcards))

    def method(self, wildcards: Any) -> str:
        """Name of the construction."""
        method: str = self._variant(wildcards).construction.method
        return method

    def recipe(self, wildcards: Any) -> str:
        """The construction's own options, nothing else."""
        return canonical(self._variant(wildcards).construction)

    def segmentation(self, wildcards: Any) -> list[str]:
        """The variant's own segmentation as a flag of the command line; empty for the construction's default."""
        chosen = self._variant(wildcards).segmentation
        return ["--segmentation", canonical(chosen)] if chosen is not None else []

    def min_count(self, wildcards: Any) -> list[str]:
        """The least count of a pre-token that is built from, as a flag of the command line; empty where it is 1."""
        least = self._variant(wildcards).min_count
        return ["--min-count", str(least)] if least > 1 else []

    def byte_lm(self, wildcards: Any) -> list[str]:
        """Byte language model whose scores the construction reads."""
        chosen = self._variant(wildcards).byte_lm
        return [] if chosen is None else [chosen]

    def shards(self, wildcards: Any) -> list[str]:
        """Names of the shards of the corpus."""
        return shard_names(self.experiment, self.corpus(wildcards))

    def documents(self, wildcards: Any) -> list[str]:
        """Corpus whose running text the construction reads."""
        return [self.corpus(wildcards)] if self._construction(wildcards).source == "documents" else []

    def initial(self, wildcards: Any) -> list[str]:
        """Initial vocabulary that the construction starts from."""
        options = self._variant(wildcards).construction
        return [options.initial] if self._construction(wildcards).initial else []

    def initial_size(self, wildcards: Any) -> list[int]:
        """Size of that vocabulary."""
        options = self._variant(wildcards).construction
        return [options.initial_size] if self._construction(wildcards).initial else []

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """MB that building asks for: by the counts that it reads, once they are there."""
        options = self._variant(wildcards).construction
        longest, longest_pretoken = (getattr(options, key, None) for key in ("max_token_bytes", "max_pretoken_bytes"))
        return memory_for_counts(
            [self.method(wildcards)],
            input.get("counts"),
            attempt,
            longest=longest,
            max_pretoken_bytes=longest_pretoken,
        )

    def files(self, wildcards: Any) -> list[str]:
        """The user's files that the construction's options name."""
        return [str(path) for path in files_among(self._variant(wildcards).construction).values()]

    def source(self, wildcards: Any) -> str:
        """Fingerprint of the modules and kernels of the three phases."""
        variant, construction = self._variant(wildcards), self._construction(wildcards)
        cut = variant.segmentation.method if variant.segmentation else construction.segmentation
        phases = (construction.definition, segmentations[cut].definition, *self._pretokenization(wildcards).modules)
        return fingerprint(*_stages(construction), *phases)

    def _variant(self, wildcards: Any) -> Variant:
        return self.experiment.built[wildcards.variant]

    def _pretokenization(self, wildcards: Any) -> Pretokenization:
        return pretokenization_of(self._variant(wildcards).pretokenization)

    def _construction(self, wildcards: Any) -> Construction:
        return constructions[self.method(wildcards)]


def initial_source(wildcards: Any) -> str:
    """Fingerprint of an initial vocabulary's construction."""
    construction = constructions[wildcards.initial]
    return fingerprint(*_stages(construction), construction.definition)


def initial_memory(wildcards: Any, input: Any, attempt: int) -> int:
    """MB that building an initial vocabulary asks for."""
    return memory_for_counts([wildcards.initial], input.get("counts"), attempt)


def _stages(construction: Construction) -> tuple[str, ...]:
    """What reads and builds; counts are read for any construction, to compare ids with other libraries."""
    build = ("tokbench.building:build_from_files", "tokbench.building:own_segmentation")
    return *build, READERS["counts"], READERS[construction.source]
