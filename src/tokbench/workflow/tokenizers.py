"""Parameters, inputs and resources of the rules for variants, external tokenizers, metrics and gold data."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.adapters.forms.ranks import sidecar_of
from tokbench.adapters.forms.transformers import settings_folder
from tokbench.adapters.hub import FILES
from tokbench.config.experiment import Experiment
from tokbench.config.sections import ExternalTokenizer, Resource, Variant, files_among
from tokbench.construction import Construction, InitialRecipe, constructions
from tokbench.io.compression import COMPRESSED
from tokbench.metric import Sight, families_of
from tokbench.options import canonical
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.resource import resource_files, resource_types
from tokbench.stages.bounds import SECTION as BOUNDS
from tokbench.stages.measurement import DOCUMENT_METRICS, on_documents
from tokbench.stages.tokenizers import default_segmentation, initial_name, initial_recipe
from tokbench.tokenizer.folder import OWN
from tokbench.tokenizer.libraries.python import source_of
from tokbench.workflow.corpora import shard_names
from tokbench.workflow.resources import memory_for_counts
from tokbench.workflow.shell import canonical_setting


@dataclass(frozen=True)
class Variants:
    """The variants of one experiment; wildcards name one.

    Inputs that only some constructions read are lists, empty for the other variants.
    """

    experiment: Experiment

    def corpus(self, wildcards: Any) -> str:
        """Return the corpus whose tokenizer split builds the variant."""
        return self.experiment.corpus_of(wildcards.variant)

    def scheme(self, wildcards: Any) -> str:
        """Return the name of the pre-tokenization in paths."""
        return self._pretokenization(wildcards).slug

    def pretokenization(self, wildcards: Any) -> str:
        """Return the pre-tokenization with its options."""
        return canonical_setting(self._pretokenization(wildcards))

    def method(self, wildcards: Any) -> str:
        """Return the name of the construction."""
        method: str = self._variant(wildcards).construction.method
        return method

    def recipe(self, wildcards: Any) -> str:
        """Return the options of the construction only."""
        return canonical(self._variant(wildcards).construction)

    def segmentation(self, wildcards: Any) -> list[str]:
        """Return the variant's segmentation as a flag; empty for the construction's default, also if written out."""
        variant = self._variant(wildcards)
        segmentation = variant.segmentation
        if segmentation is None or segmentation.model_dump(mode="json") == default_segmentation(variant):
            return []
        return ["--segmentation", canonical(segmentation)]

    def min_count(self, wildcards: Any) -> list[str]:
        """Return the minimum count of pre-tokens as a flag; empty if it is 1."""
        least = self._variant(wildcards).min_count
        return ["--min-count", str(least)] if least > 1 else []

    def byte_lm(self, wildcards: Any) -> list[str]:
        """Return the byte language model whose scores the construction reads."""
        model = self._variant(wildcards).byte_lm
        return [] if model is None else [model]

    def shards(self, wildcards: Any) -> list[str]:
        """Return the names of the shards of the corpus."""
        return shard_names(self.experiment, self.corpus(wildcards))

    def documents(self, wildcards: Any) -> list[str]:
        """Return the corpus whose running text the construction reads."""
        return [self.corpus(wildcards)] if self._construction(wildcards).source == "documents" else []

    def development(self, wildcards: Any) -> list[str]:
        """Return the corpus by which the construction compares languages."""
        corpus = self._variant(wildcards).development
        return [] if corpus is None else [corpus]

    def initial(self, wildcards: Any) -> list[str]:
        """Return the name in paths of the construction's initial vocabulary."""
        options = self._variant(wildcards).construction
        return [initial_name(options.initial)] if self._construction(wildcards).initial else []

    def initial_size(self, wildcards: Any) -> list[int]:
        """Return the size of that vocabulary."""
        options = self._variant(wildcards).construction
        return [options.initial_size] if self._construction(wildcards).initial else []

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that building requests, by the counts that it reads after they exist."""
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
        """Return the user's files in the construction's options; of a folder, the files in it."""
        return [
            file for path in files_among(self._variant(wildcards).construction).values() for file in _files_at(path)
        ]

    def initial_method(self, wildcards: Any) -> str:
        """Return the name of the construction of an initial vocabulary with its own options."""
        return str(self._initial(wildcards))

    def initial_recipe(self, wildcards: Any) -> str:
        """Return all options of that construction."""
        return canonical(self._initial(wildcards).setting)

    def initial_files(self, wildcards: Any) -> list[str]:
        """Return the user's files in these options."""
        return [str(path) for path in files_among(self._initial(wildcards).options).values()]

    def initial_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that building such a vocabulary requests."""
        return memory_for_counts([self.initial_method(wildcards)], input.get("counts"), attempt)

    def _initial(self, wildcards: Any) -> InitialRecipe:
        return initial_recipe(self.experiment, wildcards.initial_recipe)

    def _variant(self, wildcards: Any) -> Variant:
        return self.experiment.built[wildcards.variant]

    def _pretokenization(self, wildcards: Any) -> Pretokenization:
        return pretokenization_of(self._variant(wildcards).pretokenization)

    def _construction(self, wildcards: Any) -> Construction:
        return constructions[self.method(wildcards)]


def initial_memory(wildcards: Any, input: Any, attempt: int) -> int:
    """Return the MB that building an initial vocabulary requests."""
    return memory_for_counts([wildcards.initial], input.get("counts"), attempt)


VOCABULARY_FILES = tuple(f"vocab.json{ending}" for ending in ("", *COMPRESSED))
"""Files that are read in addition to a file of merges."""


@dataclass(frozen=True)
class Imports:
    """The external tokenizers of one experiment; wildcards name one, or the digest of a downloaded one."""

    experiment: Experiment

    @property
    def names(self) -> str:
        """Pattern of their names."""
        return "|".join(self.experiment.external) or "(?!)"

    def files(self, wildcards: Any) -> list[str]:
        """Return the user's files of a tokenizer; empty for one on the hub."""
        variant = self._variant(wildcards)
        if variant.revision is not None:
            return []
        if variant.form == "python":
            return [str(source_of(str(variant.path))[0])]
        place = Path(variant.path or "")
        if place.is_dir():
            names = ("merges.txt*", "vocab.json*") if variant.form == "merges" else tuple(f"{name}*" for name in FILES)
            return sorted({str(file) for name in names for file in place.glob(name) if file.is_file()})
        near = [place.parent / name for name in VOCABULARY_FILES] if variant.form == "merges" else []
        if variant.form == "tiktoken" and (settings := sidecar_of(place)) is not None:
            near.append(settings)
        if variant.form == "transformers":
            near += [folder / name for folder in {place.parent, settings_folder(place.parent)} for name in FILES]
        return [str(place), *(str(file) for file in near if file.is_file())]

    def digest(self, wildcards: Any) -> list[str]:
        """Return the digest of a hub tokenizer, so that experiments share downloads; empty for the user's files."""
        variant = self._variant(wildcards)
        return [_digest(variant)] if variant.revision is not None else []

    def fetch_recipe(self, wildcards: Any) -> str:
        """Return name and revision of the hub tokenizer with this digest."""
        hub = (variant for variant in self.experiment.external.values() if variant.revision is not None)
        return canonical(_source_of(next(variant for variant in hub if _digest(variant) == wildcards.digest)))

    def path(self, wildcards: Any, input: Any) -> str:
        """Return the path of the tokenizer: the user's file or folder, or the download."""
        variant = self._variant(wildcards)
        return str(variant.path) if variant.revision is None else str(input.fetched)

    def options(self, wildcards: Any) -> list[str]:
        """Return its format, and settings that its file lacks, as flags."""
        variant = self._variant(wildcards)
        settings = {"from": variant.form, "pattern": variant.pattern, "segmentation": variant.segmentation}
        settings |= {"added": None if variant.form == "python" else variant.added, "end-of-text": variant.end_of_text}
        special = sorted((variant.special_tokens or {}).items(), key=lambda item: item[1])
        return [
            *(f"--{key}={value}" for key, value in settings.items() if value is not None),
            *(f"--special={name}={number}" for name, number in special),
        ]

    def check(self, wildcards: Any, input: Any) -> list[str]:
        """Return the shards of the evaluation split on which it is checked, as flags."""
        corpus = self.experiment.corpus_of(wildcards.variant)
        return [f"--check={input.corpus}/evaluation/{shard}.parquet" for shard in shard_names(self.experiment, corpus)]

    def _variant(self, wildcards: Any) -> ExternalTokenizer:
        return self.experiment.external[wildcards.variant]


def _source_of(variant: ExternalTokenizer) -> dict[str, str | None]:
    return {"path": variant.path, "revision": variant.revision}


def _digest(variant: ExternalTokenizer) -> str:
    return hashlib.sha256(canonical(_source_of(variant)).encode()).hexdigest()[:16]


RECORDS = ("manifest.json", ".tokbench.json", ".snakemake_timestamp")
"""Files of a tokenizer's folder that differ from build to build."""
UNKNOWN = 4000
"""MB for measuring if the counts do not exist yet, or the input is not counts."""


@dataclass(frozen=True)
class Measurements:
    """The measurements of one experiment's tokenizers; wildcards name the resource if there is one."""

    experiment: Experiment

    def metrics(self, *of: Sight) -> str:
        """Return the options of the metrics with one of these inputs."""
        families = {method.name for method in families_of(*of)}
        return canonical(self.experiment.metrics.model_dump(mode="json", include=families))

    def document_metrics(self, wildcards: Any) -> str:
        """Return the options of the metrics of documents."""
        options = DOCUMENT_METRICS.of(self.experiment)
        return canonical({} if options is None else options.model_dump(mode="json", exclude={"baseline"}))

    def baseline(self, wildcards: Any) -> list[str]:
        """Return variant and size of the baseline of sequence lengths; empty if none is of this size."""
        options = DOCUMENT_METRICS.of(self.experiment)
        if options is None or options.baseline is None:
            return []
        sizes = [str(size) for size in self.experiment.sizes_of(options.baseline)]
        size = OWN if sizes == [OWN] else wildcards.size
        return [f"{options.baseline}/{size}"] if size in sizes else []

    def baseline_flags(self, wildcards: Any, input: Any) -> list[str]:
        """Return the folder of the baseline as a flag."""
        return [f"--baseline={folder}" for folder in _several(getattr(input, "baseline", ()))]

    def schemes(self, wildcards: Any) -> list[str]:
        """Return the pre-tokenization of the counts on which a tokenizer is measured.

        It is empty for a tokenizer that is measured on documents. Measuring an external one counts the text if its
        pre-tokenization, which is known only after import, is ours.
        """
        if self._on_documents(wildcards):
            return []
        return [pretokenization_of(self.experiment.built[wildcards.variant].pretokenization).slug]

    def _on_documents(self, wildcards: Any) -> bool:
        return on_documents(self.experiment, wildcards.variant)

    def reference(self, wildcards: Any) -> list[str]:
        """Return the corpus whose words are looked up in the built vocabularies, if one is configured."""
        corpus = self.experiment.metrics.vocabulary.words_of
        return [] if corpus is None or self._on_documents(wildcards) else [corpus]

    def corpora(self, wildcards: Any) -> list[str]:
        """Return the corpus on whose documents a tokenizer is measured; empty if it is measured on counts."""
        return [self.corpus(wildcards)] if self._on_documents(wildcards) else []

    def corpus(self, wildcards: Any) -> str:
        """Return the corpus on which a tokenizer is measured: its own, or another that the wildcards name."""
        corpus: str | None = getattr(wildcards, "on", None)
        return self.experiment.corpus_of(wildcards.variant) if corpus is None else corpus

    def text(self, wildcards: Any, input: Any) -> list[str]:
        """Return the text on which a tokenizer is measured as flags: counts, or shards of documents."""
        if not self._on_documents(wildcards):
            reference = [f"--reference={file}" for file in _several(getattr(input, "reference", ()))]
            return ["--counts", *_several(input.counts), *reference]
        return self.documents(wildcards, input)

    def documents(self, wildcards: Any, input: Any) -> list[str]:
        """Return the shards of the evaluation split as flags."""
        shards = shard_names(self.experiment, self.corpus(wildcards))
        return [f"--documents={input.corpus}/evaluation/{shard}.parquet" for shard in shards]

    def memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that measuring requests, by the counts that it reads after they exist."""
        files = [*_several(input.get("counts")), *_several(input.get("reference"))]
        needs = [memory_for_counts(["measure"], file, attempt, unknown=UNKNOWN) for file in files or [""]]
        return sum(needs)

    def bounding_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that the search for a bound requests, by the counts that it reads after they exist."""
        longest = BOUNDS.of(self.experiment).max_pretoken_bytes
        return memory_for_counts(["bound"], input.counts, attempt, unknown=UNKNOWN, max_pretoken_bytes=longest)

    def resource_files(self, wildcards: Any) -> list[str]:
        """Return the user's files of a resource."""
        resource = self._resource(wildcards)
        return [str(path) for _, path in resource_files(resource.type, resource)]

    def resource_recipe(self, wildcards: Any) -> str:
        """Return type and options of a resource; files are inputs, and part of it only if they have language tags."""
        recipe = self._resource(wildcards).model_dump(mode="json")
        if not isinstance(recipe["path"], dict):
            recipe.pop("path")
        return canonical(recipe)

    def resource_metrics(self, wildcards: Any) -> str:
        """Return the options of the metrics that are computed on a resource."""
        return self.metrics(resource_types[self._resource(wildcards).type].gold)

    def _resource(self, wildcards: Any) -> Resource:
        return self.experiment.resources[wildcards.resource]


def _files_at(path: Path) -> list[str]:
    """Return a file, or the files in a folder, except the record of its creation."""
    if not path.is_dir():
        return [str(path)]
    return sorted(str(file) for file in path.iterdir() if file.is_file() and file.name not in RECORDS)


def _several(files: Any) -> list[str]:
    """Return the files of an input that may be one file, several or none."""
    return [files] if isinstance(files, str) else list(files or ())
