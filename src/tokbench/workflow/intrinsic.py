"""What the rules ask of an experiment's metrics and resources."""

from dataclasses import dataclass
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Resource
from tokbench.intrinsic.resource_files import resource_files
from tokbench.metric import Sight, families_of
from tokbench.pretokenization import pretokenization_of
from tokbench.resource import resource_types
from tokbench.workflow.canonical import canonical
from tokbench.workflow.corpus import shard_names
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.resources import memory_for_counts

UNKNOWN = 4000
"""MB for measuring what is not there yet, or is no counts."""
OF_TEXT: tuple[Sight, ...] = ("text", "languages")
RECORD = "tokbench.intrinsic.measure:record_of"
GOLD = (
    RECORD,
    "tokbench.intrinsic.read_resource:read_resource",
    "tokbench.intrinsic.words:words_of",
    "tokbench.intrinsic.measure:measure_cut_words",
    "tokbench.intrinsic.measure_encoded:words_without_values",
    "tokbench.tokenizer:Tokenizer",
)
STAGES: dict[Sight, tuple[str, ...]] = {
    "text": (
        RECORD,
        "tokbench.corpus.text_files:read_files",
        "tokbench.counting.external_count:count_texts",
        "tokbench.counting.languages:all_languages",
        "tokbench.intrinsic.measure:measure_text",
        "tokbench.intrinsic.measure_encoded:measure_encoded",
        "tokbench.adapters.loss:Watched",
        "tokbench.tokenizer:Tokenizer",
    ),
    "languages": (),
    "segmentations": (*GOLD, "tokbench.intrinsic.alignment_by_word:boundaries_by_word"),
    "lexical_decisions": (*GOLD, "tokbench.intrinsic.alignment_by_word:nothing_by_word"),
    "embeddings": (
        RECORD,
        "tokbench.intrinsic.embeddings:embeddings_of",
        "tokbench.intrinsic.measure:measure_embeddings",
        "tokbench.occurrences:read_occurrences",
        "tokbench.tokenizer:Tokenizer",
    ),
}
"""What measures, by what a metric sees."""


@dataclass(frozen=True)
class Measurements:
    """The measurements of one experiment's tokenizers; wildcards name the resource where there is one."""

    experiment: Experiment

    def metrics(self, *of: Sight) -> str:
        """Options of the metrics that see one of these."""
        chosen = {method.name for method in families_of(*of)}
        return canonical(self.experiment.metrics.model_dump(mode="json", include=chosen))

    def schemes(self, wildcards: Any) -> list[str]:
        """The pre-tokenization of the counts that a tokenizer is measured on; none where it counts by itself:
        what a tokenizer made elsewhere cuts by is known only once it is read."""
        variant = self.experiment.built.get(wildcards.variant)
        return [] if variant is None else [pretokenization_of(variant.pretokenization).slug]

    def corpora(self, wildcards: Any) -> list[str]:
        """The corpus on whose documents a tokenizer made elsewhere is measured; none for the others."""
        made = wildcards.variant in self.experiment.elsewhere
        return [self.corpus(wildcards)] if made else []

    def corpus(self, wildcards: Any) -> str:
        """The corpus that a tokenizer is measured on: its own, or another that the wildcards name."""
        named: str | None = getattr(wildcards, "on", None)
        return self.experiment.corpus_of(wildcards.variant) if named is None else named

    def text(self, wildcards: Any, input: Any) -> list[str]:
        """What a tokenizer is measured on, as flags of the command line: counts, or shards of documents."""
        if wildcards.variant in self.experiment.built:
            counts = input.counts
            return ["--counts", counts if isinstance(counts, str) else counts[0]]
        shards = shard_names(self.experiment, self.corpus(wildcards))
        return [f"--documents={input.corpus}/evaluation/{shard}.parquet" for shard in shards]

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """MB that measuring asks for: by the counts that it reads, once they are there."""
        return memory_for_counts(["measure"], input.get("counts"), attempt, unknown=UNKNOWN)

    def bounding_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that the search for a bound asks for, by the counts that it reads once they exist."""
        longest = self.experiment.bounds.max_pretoken_bytes
        return memory_for_counts(["bound"], input.counts, attempt, unknown=UNKNOWN, max_pretoken_bytes=longest)

    def resource_files(self, wildcards: Any) -> list[str]:
        """The user's files that a resource is read from."""
        resource = self._resource(wildcards)
        return [str(path) for _, path in resource_files(resource.type, resource)]

    def resource_recipe(self, wildcards: Any) -> str:
        """Type and options of a resource; files are inputs, and named here only where they have language tags."""
        recipe = self._resource(wildcards).model_dump(mode="json")
        if not isinstance(recipe["path"], dict):
            recipe.pop("path")
        return canonical(recipe)

    def resource_metrics(self, wildcards: Any) -> str:
        """Options of the metrics that are taken of a resource."""
        return self.metrics(resource_types[self._resource(wildcards).type].gold)

    def resource_source(self, wildcards: Any) -> str:
        """Fingerprint of how a resource is read and of every metric that is taken of it."""
        kind = resource_types[self._resource(wildcards).type]
        return measured_by(kind.gold, also=(kind.definition,))

    def _resource(self, wildcards: Any) -> Resource:
        return self.experiment.resources[wildcards.resource]


def measured_by(*of: Sight, also: tuple[str, ...] = ()) -> str:
    """Fingerprint of what measures, and of every metric that sees one of these."""
    families = (method.definition for method in families_of(*of))
    return fingerprint(*(stage for one in of for stage in STAGES[one]), *families, *also)
