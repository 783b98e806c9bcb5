"""An experiment: everything that one configuration file says."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tokbench.config.sections import (
    AnyVariant,
    BoundsOptions,
    Corpus,
    ExternalTokenizer,
    MetricsOptions,
    ModelRuns,
    NgramBitsOptions,
    ReportOptions,
    Resource,
    Size,
    StatisticsOptions,
    TranslationRuns,
    Variant,
)
from tokbench.config.short_forms import Preset
from tokbench.corpus.parallel import ParallelCorpus
from tokbench.models.byte_lm.options import PRESETS as BYTE_LM_PRESETS
from tokbench.models.byte_lm.options import AnyByteLm
from tokbench.models.evaluation.offline_tasks import TaskOptions
from tokbench.models.evaluation.suites import SuiteOptions, named_suites
from tokbench.models.pretraining.options import PRESETS as MODEL_PRESETS
from tokbench.models.pretraining.options import AnyModel
from tokbench.models.translation.options import PRESETS as TRANSLATION_PRESETS
from tokbench.models.translation.options import TranslationOptions
from tokbench.options import Name, Options, Seed, VocabularySize
from tokbench.tokenizer.folder import OWN

ByteLm = Annotated[AnyByteLm, Preset("byte_lm", lambda: BYTE_LM_PRESETS, {"kind": "neural"})]
Model = Annotated[AnyModel, Preset("model", lambda: MODEL_PRESETS, {"architecture": "mpt"})]
TranslationModel = Annotated[TranslationOptions, Preset("translation model", lambda: TRANSLATION_PRESETS)]
Suite = Annotated[SuiteOptions, Preset("suite", named_suites)]


class Experiment(Options):
    """One configuration file: a corpus and recipes, from which everything else follows."""

    name: Name
    """Names the folder of the results."""
    seed: Seed = 0
    """Decides the splits and every construction's random choices."""
    results: str = "results"
    """Folder under which the experiment's own folder lies."""
    corpora: dict[Name, Corpus] = Field(min_length=1)
    """Named text."""
    parallel_corpora: dict[Name, ParallelCorpus] = Field(default_factory=dict)
    """Pairs of sentences in two languages; a corpus of type ``parallel`` holds their sides."""
    byte_lms: dict[Name, ByteLm] = Field(default_factory=dict)
    """Byte language models: a preset's name, or its options, with ``preset`` for what they change."""
    variants: dict[Name, AnyVariant] = Field(min_length=1)
    """Tokenizer recipes, and tokenizers made elsewhere."""
    sizes: list[VocabularySize] = Field(default_factory=list, min_length=1)
    """Vocabulary sizes of the variants that are built, the 256 bytes included; needed where one of them names none."""
    measured_on: list[str] = Field(default_factory=list)
    """Corpora on whose evaluation splits every variant is measured, beside the one that it is built from: their token
    n-gram models are trained on these corpora, too. A variant may name its own."""
    resources: dict[Name, Resource] = Field(default_factory=dict)
    """Gold data on which every tokenizer is measured: a type's name, or its options."""
    metrics: MetricsOptions = Field(default_factory=MetricsOptions)
    """Options of the intrinsic metrics."""
    bounds: BoundsOptions = Field(default_factory=BoundsOptions)
    """How the fewest tokens of any vocabulary are looked for, over which the metric ``gap`` is taken."""
    ngram_bits: NgramBitsOptions | None = None
    """Token n-gram models of every tokenizer, whose bits per byte compare tokenizers without a language model; none
    where it is left out."""
    models: dict[Name, Model] = Field(default_factory=dict)
    """Language-model recipes: a preset's name, or its options, with ``preset`` for what they change."""
    tasks: TaskOptions = Field(default_factory=TaskOptions)
    """How the offline tasks are made from the evaluation split."""
    suites: dict[Name, Suite] = Field(default_factory=dict)
    """Sets of downstream tasks: a named suite, or its options, with ``preset`` for what they change."""
    runs: list[ModelRuns] = Field(default_factory=list)
    """Language models to train and test."""
    translation_models: dict[Name, TranslationModel] = Field(default_factory=dict)
    """Recipes of translation models: a preset's name, or its options, with ``preset`` for what they change."""
    translations: list[TranslationRuns] = Field(default_factory=list)
    """Translation models to train and test."""
    statistics: StatisticsOptions = Field(default_factory=StatisticsOptions)
    """What is to be seen, told before the runs."""
    report: ReportOptions = Field(default_factory=ReportOptions)
    """What the report says beyond the tables."""
    released: Path | None = None
    """Folder of the vocabularies and token counts that the authors of "Tokenization Is More Than Compression" released,
    from which ``snakemake published`` recomputes their Venn diagram and token counts; these are left out without it."""

    @cached_property
    def folder(self) -> str:
        """Folder of this experiment's results, without the doubled slashes and dots that paths may be written with."""
        return str(Path(self.results, self.name))

    @property
    def published(self) -> str:
        """Folder of the tables that are kept: the papers' numbers, recomputed."""
        return str(Path(self.results, "published", "papers"))

    @cached_property
    def built(self) -> dict[str, Variant]:
        """The variants that are built here, by name."""
        return {name: variant for name, variant in self.variants.items() if isinstance(variant, Variant)}

    @cached_property
    def elsewhere(self) -> dict[str, ExternalTokenizer]:
        """The variants that were made elsewhere, by name."""
        return {name: variant for name, variant in self.variants.items() if isinstance(variant, ExternalTokenizer)}

    def sizes_of(self, variant: str) -> Sequence[Size]:
        """Vocabulary sizes of a variant; of one that was made elsewhere the word that stands for its own."""
        return self.built[variant].sizes or self.sizes if variant in self.built else [OWN]

    def sizes_in(self, run: ModelRuns, variant: str) -> Sequence[Size]:
        """Vocabulary sizes at which a run takes a variant: those that it names, but for one that was made elsewhere."""
        return run.sizes or self.sizes_of(variant) if variant in self.built else [OWN]

    def sizes_between(self, run: TranslationRuns, source: str, target: str) -> Sequence[Size]:
        """Vocabulary sizes at which a pair of tokenizers is taken: those of the side that is built, the source's where
        both are; where none is, the word that stands for their own."""
        named = source if source in self.built or target not in self.built else target
        return run.sizes or self.sizes_of(named) if named in self.built else [OWN]

    def corpus_of(self, variant: str) -> str:
        """Corpus whose tokenizer split builds a variant."""
        return self.variants[variant].corpus or next(iter(self.corpora))

    def measured_on_of(self, variant: str) -> list[str]:
        """Corpora that a variant is measured on beside its own, each once."""
        own = self.variants[variant].measured_on
        others = self.measured_on if own is None else own
        return [corpus for corpus in dict.fromkeys(others) if corpus != self.corpus_of(variant)]

    def measured_corpora(self) -> list[str]:
        """Every corpus that variants are measured on, each once."""
        found = (one for name in self.variants for one in (self.corpus_of(name), *self.measured_on_of(name)))
        return list(dict.fromkeys(found))

    def corpora_of(self, run: ModelRuns) -> dict[tuple[str, str, Size], str]:
        """Corpus that each language model of a run reads, by model, variant and vocabulary size."""
        return {
            (model, variant, size): run.corpus or self.corpus_of(variant)
            for model in run.models
            for variant in run.variants
            for size in self.sizes_in(run, variant)
        }

    def baselines(self) -> dict[str, str]:
        """For each corpus that variants are measured on, the variant to which the others are relative.

        One that is built from the corpus where any is."""
        first: dict[str, str] = {}
        for variant in self.variants:
            first.setdefault(self.corpus_of(variant), variant)
        for variant in self.variants:
            for corpus in self.measured_on_of(variant):
                first.setdefault(corpus, variant)
        chosen = self.report.baseline or {}
        if isinstance(chosen, str):
            chosen = {self.corpus_of(chosen): chosen}
        return {corpus: chosen.get(corpus, variant) for corpus, variant in first.items()}
