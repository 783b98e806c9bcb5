"""What the workflow's rules ask of an experiment: input files, canonical recipes, fingerprints of code.

Recipes are canonical text (sorted keys, no spaces), because the workflow engine compares rule parameters as text.
Every function takes the wildcards of a rule, any object with the named attributes.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tokbench.byte_lm.options import ByteNgramOptions
from tokbench.config.sections import Variant, files_among
from tokbench.construction import constructions
from tokbench.corpus.sources import FileSource, HubSource, files_of
from tokbench.intrinsic.resource_files import resource_files
from tokbench.metric import Sight, families_of
from tokbench.pretokenization import schemes
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.workflow.canonical import canonical
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.suite_targets import SuiteTargets


def flags(wildcards: Any, input: Any) -> list[str]:
    """Every named input of a rule as a flag of the command line, ``--name path``, once a path.

    A corpus is left out: a rule names the shards of the split that it reads.
    """
    named = [(name, [paths] if isinstance(paths, str) else paths) for name, paths in input.items() if name != "corpus"]
    return [word for name, paths in named for path in paths for word in (f"--{name.replace('_', '-')}", path)]


@dataclass(frozen=True)
class Targets(SuiteTargets):
    """The files and parameters of one experiment's workflow."""

    def _variant(self, wildcards: Any) -> Variant:
        return self.experiment.variants[wildcards.variant]

    # Corpus

    def fetched(self, corpus: str) -> str:
        """Where a hub corpus is kept once fetched: named by its recipe, shared by all experiments."""
        digest = hashlib.sha256(canonical(self.experiment.corpora[corpus].source).encode()).hexdigest()[:16]
        return f"<resources>/hub/{digest}.parquet"

    def fetch_recipe(self, wildcards: Any) -> str:
        """The hub source that has this digest."""
        hub = [name for name, corpus in self.experiment.corpora.items() if isinstance(corpus.source, HubSource)]
        name = next(name for name in hub if self.fetched(name).endswith(f"/{wildcards.digest}.parquet"))
        return canonical(self.experiment.corpora[name].source)

    def source_files(self, wildcards: Any) -> list[str]:
        """The files that a corpus is read from."""
        source = self.experiment.corpora[wildcards.corpus].source
        if isinstance(source, HubSource):
            return [self.fetched(wildcards.corpus)]
        return [str(path) for path in files_of(source)] if isinstance(source, FileSource) else []

    def corpus_recipe(self, wildcards: Any) -> str:
        """Source, splits, shards and seed; the files are inputs and not named here."""
        corpus = self.experiment.corpora[wildcards.corpus]
        recipe = corpus.model_dump(mode="json")
        if not isinstance(recipe["source"].get("path"), dict):
            recipe["source"].pop("path", None)
        return canonical({**recipe, "seed": self.experiment.seed})

    def shards(self, corpus: str) -> list[str]:
        """Names of a split's shards."""
        return [f"{shard:04}" for shard in range(self.experiment.corpora[corpus].shards)]

    # Pre-tokenization

    def counted_shards(self, wildcards: Any) -> list[str]:
        """Counts of every shard of a split."""
        folder = f"<results>/pretokens/{wildcards.corpus}/{wildcards.split}/{wildcards.scheme}"
        return [f"{folder}/{shard}.parquet" for shard in self.shards(wildcards.corpus)]

    def scheme_source(self, wildcards: Any) -> str:
        """Fingerprint of counting and of the scheme; of merging, too, because the counts of shards are not kept."""
        return fingerprint(
            "tokbench.commands.count", "tokbench.commands.merge_counts", schemes[wildcards.scheme].module
        )

    @property
    def corpora_of_text(self) -> str:
        """The corpora with documents, as a pattern."""
        return _either(name for name, corpus in self.experiment.corpora.items() if not corpus.counted)

    @property
    def corpora_of_counts(self) -> str:
        """The corpora that are counts alone, as a pattern."""
        return _either(name for name, corpus in self.experiment.corpora.items() if corpus.counted)

    # Byte language model

    def byte_lm_training_recipe(self, wildcards: Any) -> str:
        """Options of a byte language model, those that only scoring reads set to fixed values."""
        options = self.experiment.byte_lms[wildcards.byte_lm]
        if isinstance(options, ByteNgramOptions):
            return canonical(options)
        return canonical(options.model_copy(update={"stride": options.context, "score_batch": 1}))

    def byte_lm_recipe(self, wildcards: Any) -> str:
        """Options of a byte language model."""
        return canonical(self.experiment.byte_lms[wildcards.byte_lm])

    def byte_lm_source(self, wildcards: Any, command: str) -> str:
        """Fingerprint of what trains or scores a byte language model of this kind."""
        neural = {"train_byte_lm": "tokbench.byte_lm.train", "score_bytes": "tokbench.byte_lm.score"}
        counted = isinstance(self.experiment.byte_lms[wildcards.byte_lm], ByteNgramOptions)
        return fingerprint(f"tokbench.commands.{command}", "tokbench.byte_lm.ngram" if counted else neural[command])

    def train_byte_lm_source(self, wildcards: Any) -> str:
        """Fingerprint of what trains a byte language model of this kind."""
        return self.byte_lm_source(wildcards, "train_byte_lm")

    def score_bytes_source(self, wildcards: Any) -> str:
        """Fingerprint of what scores with a byte language model of this kind."""
        return self.byte_lm_source(wildcards, "score_bytes")

    # Vocabulary

    def counts_of(self, wildcards: Any) -> str:
        """Counts of the variant's tokenizer split."""
        variant = self._variant(wildcards)
        corpus = self.experiment.corpus_of(wildcards.variant)
        return f"<results>/pretokens/{corpus}/tokenizer/{variant.pretokenization}.parquet"

    def scores_of(self, wildcards: Any) -> list[str]:
        """Byte scores of the variant's tokenizer split; none for a variant that reads none."""
        variant = self._variant(wildcards)
        if variant.byte_lm is None:
            return []
        corpus = self.experiment.corpus_of(wildcards.variant)
        folder = f"<results>/byte_lm/{corpus}/{variant.byte_lm}/scores"
        return [f"{folder}/{shard}.parquet" for shard in self.shards(corpus)]

    def option_files_of(self, wildcards: Any) -> list[str]:
        """Files that the options of the variant's construction name."""
        return [str(path) for path in files_among(self._variant(wildcards).construction).values()]

    def documents_of(self, wildcards: Any) -> list[str]:
        """Folder of the variant's corpus for a construction that reads running text; none for all others."""
        construction = constructions[self._variant(wildcards).construction.method]
        if construction.source != "documents":
            return []
        return [f"<results>/corpus/{self.experiment.corpus_of(wildcards.variant)}"]

    def initial_of(self, wildcards: Any) -> list[str]:
        """Folder of the vocabulary that the variant's construction starts from; none where it starts from none."""
        variant = self._variant(wildcards)
        if not constructions[variant.construction.method].initial:
            return []
        corpus, options = self.experiment.corpus_of(wildcards.variant), variant.construction
        return [f"<results>/initial/{corpus}/{variant.pretokenization}/{options.initial}/{options.initial_size}"]

    def construction_of(self, wildcards: Any) -> str:
        """Name of the variant's construction."""
        method: str = self._variant(wildcards).construction.method
        return method

    def recipe_of(self, wildcards: Any) -> str:
        """The variant's own construction options, nothing else."""
        return canonical(self._variant(wildcards).construction)

    def segmentation_of(self, wildcards: Any) -> list[str]:
        """The variant's own segmentation as a flag of the command line; empty for the construction's default."""
        chosen = self._variant(wildcards).segmentation
        return ["--segmentation", canonical(chosen)] if chosen is not None else []

    def scheme_of(self, wildcards: Any) -> str:
        """The variant's pre-tokenization."""
        return self._variant(wildcards).pretokenization

    def source_of(self, wildcards: Any) -> str:
        """Fingerprint of the modules and kernels of a variant's three phases."""
        variant = self._variant(wildcards)
        construction = constructions[variant.construction.method]
        cut = variant.segmentation.method if variant.segmentation else construction.segmentation
        phases = (construction.module, segmentations[cut].module, schemes[variant.pretokenization].module)
        return fingerprint("tokbench.commands.build", *phases)

    def initial_source(self, wildcards: Any) -> str:
        """Fingerprint of an initial vocabulary's construction."""
        return fingerprint("tokbench.commands.build", constructions[wildcards.initial].module)

    # Intrinsic

    def _metrics(self, *of: Sight) -> str:
        """Options of the metrics that see one of these."""
        chosen = {method.name for method in families_of(*of)}
        return canonical(self.experiment.metrics.model_dump(mode="json", include=chosen))

    def measure_metrics(self) -> str:
        """Options of the metrics that are taken of a text."""
        return self._metrics("text", "languages")

    def measure_source(self) -> str:
        """Fingerprint of every metric that is taken of a text."""
        families = (method.module for method in families_of("text", "languages"))
        return fingerprint("tokbench.commands.measure", *families)

    def resource_files(self, wildcards: Any) -> list[str]:
        """The files of a resource."""
        resource = self.experiment.resources[wildcards.resource]
        return [str(path) for _, path in resource_files(resource.type, resource)]

    def resource_recipe(self, wildcards: Any) -> str:
        """Type and options of a resource; files are inputs, and named here only where they have language tags."""
        recipe = self.experiment.resources[wildcards.resource].model_dump(mode="json")
        if not isinstance(recipe["path"], dict):
            recipe.pop("path")
        return canonical(recipe)

    def resource_metrics(self, wildcards: Any) -> str:
        """Options of the metrics that are taken of a resource."""
        return self._metrics(resource_types[self.experiment.resources[wildcards.resource].type].gold)

    def resource_source(self, wildcards: Any) -> str:
        """Fingerprint of how a resource is read and of every metric that is taken of it."""
        kind = resource_types[self.experiment.resources[wildcards.resource].type]
        families = (method.module for method in families_of(kind.gold))
        return fingerprint("tokbench.commands.measure_resource", kind.module, *families)

    def corpus_of(self, wildcards: Any) -> str:
        """Corpus of a variant."""
        return self.experiment.corpus_of(wildcards.variant)

    def evaluation_counts_of(self, wildcards: Any) -> str:
        """Counts of the evaluation split under the variant's scheme."""
        corpus, scheme = self.experiment.corpus_of(wildcards.variant), self.scheme_of(wildcards)
        return f"<results>/pretokens/{corpus}/evaluation/{scheme}.parquet"

    # Language models

    def model_recipe(self, wildcards: Any) -> str:
        """Options of a language model."""
        return canonical(self.experiment.models[wildcards.model])

    def sequence_length(self, model: str) -> int:
        """Tokens of a packed sequence."""
        return self.experiment.models[model].max_seq_len

    def packed_of(self, wildcards: Any) -> str:
        """Packed sequences that a model reads."""
        corpus, length = self.run_corpus(wildcards), self.sequence_length(wildcards.model)
        return f"<results>/encoded/{wildcards.variant}/{wildcards.size}/{corpus}/{length}"

    def gpus_of(self, wildcards: Any) -> int:
        """GPUs that a model's recipe asks for."""
        return int(self.experiment.models[wildcards.model].device in ("cuda", "gpu"))

    def device_of(self, wildcards: Any) -> str:
        """Where a model is tested: where it was trained."""
        return str(self.experiment.models[wildcards.model].device)

    def embedding_metrics(self) -> str:
        """Options of the metrics that are taken of a model's embeddings."""
        return self._metrics("embeddings")

    def embedding_source(self) -> str:
        """Fingerprint of every metric that is taken of a model's embeddings."""
        families = (method.module for method in families_of("embeddings"))
        return fingerprint("tokbench.commands.measure_embeddings", *families)

    # All of an experiment

    def tokenizers(self, pattern: str) -> list[str]:
        """A pattern with {variant} and {size} filled in for every tokenizer."""
        return [
            pattern.format(variant=variant, size=size)
            for variant in self.experiment.variants
            for size in self.experiment.sizes_of(variant)
        ]

    def models(self, pattern: str) -> list[str]:
        """A pattern with {model}, {variant}, {size} and perhaps {suite} filled in for every run, each file once."""
        return _once(
            pattern.format(model=model, variant=variant, size=size, suite=suite)
            for run in self.experiment.runs
            for model in run.models
            for variant in run.variants
            for size in run.sizes or self.experiment.sizes_of(variant)
            for suite in run.suites
        )

    def measurements(self) -> list[str]:
        """What was measured of every tokenizer, on its text and on every resource."""
        folder = "<results>/intrinsic/{variant}/{size}"
        patterns = [f"{folder}.json", *(f"{folder}/{resource}.json" for resource in self.experiment.resources)]
        return [path for pattern in patterns for path in self.tokenizers(pattern)]

    def baseline_flags(self) -> list[str]:
        """The variant to which the others are relative, by corpus."""
        chosen = self.experiment.baselines().items()
        return [word for corpus, variant in chosen for word in ("--baseline", f"{corpus}={variant}")]

    def released(self) -> list[str]:
        """Folder of released vocabularies; none where none is named."""
        return [] if self.experiment.released is None else [str(self.experiment.released)]

    def analysed_recipe(self) -> str:
        """Variants and models in full, each variant with the segmentation that it has."""
        variants = {}
        for name, variant in self.experiment.variants.items():
            cut = variant.segmentation
            if cut is None:
                method = constructions[variant.construction.method].segmentation
                segmentation = {"method": method, **segmentations[method].options().model_dump(mode="json")}
            else:
                segmentation = cut.model_dump(mode="json")
            variants[name] = {
                "corpus": self.experiment.corpus_of(name),
                "pretokenization": variant.pretokenization,
                "construction": variant.construction.model_dump(mode="json"),
                "segmentation": segmentation,
            }
        models = {name: model.model_dump(mode="json") for name, model in self.experiment.models.items()}
        return canonical({"variants": variants, "models": models})

    def report_recipe(self) -> str:
        """The whole experiment as the user wrote it, defaults left out and in its own order: the report shows it."""
        written = self.experiment.model_dump(mode="json", exclude_unset=True)
        return json.dumps(written, separators=(",", ":"), ensure_ascii=False)

    def venn_flags(self) -> list[str]:
        """The variants of the Venn diagram: the report's, or the first three."""
        chosen = self.experiment.report.venn or list(self.experiment.variants)[:3]
        return [word for variant in chosen for word in ("--venn", variant)]


def _either(names: Iterable[str]) -> str:
    """A pattern that matches these names; nothing where there are none."""
    return "|".join(names) or "(?!)"


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
