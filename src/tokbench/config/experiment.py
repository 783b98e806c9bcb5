"""An experiment: the content of one configuration file."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from tokbench.config.corpus import Corpus
from tokbench.config.sections import (
    AnyVariant,
    ExternalTokenizer,
    MetricsOptions,
    ModelRuns,
    ReportOptions,
    Resource,
    Size,
    TranslationRuns,
    Variant,
)
from tokbench.config.short_forms import Preset
from tokbench.construction import constructions
from tokbench.corpus.parallel import ParallelCorpus
from tokbench.errors import TokbenchError
from tokbench.evaluation.offline_tasks import TaskOptions
from tokbench.evaluation.suites import SuiteOptions, named_suites
from tokbench.models.byte_lm.options import PRESETS as BYTE_LM_PRESETS
from tokbench.models.byte_lm.options import AnyByteLm
from tokbench.models.pretraining.options import PRESETS as MODEL_PRESETS
from tokbench.models.pretraining.options import AnyModel
from tokbench.models.translation.options import PRESETS as TRANSLATION_PRESETS
from tokbench.models.translation.options import TranslationOptions
from tokbench.options import Name, Options, Seed, VocabularySize
from tokbench.segmentation import segmentations
from tokbench.stage import Stages, stages
from tokbench.statistics.scale.target_model import TargetModel
from tokbench.tokenizer.folder import OWN

ByteLm = Annotated[AnyByteLm, Preset("byte_lm", lambda: BYTE_LM_PRESETS, {"kind": "neural"})]
Model = Annotated[AnyModel, Preset("model", lambda: MODEL_PRESETS, {"architecture": "mpt"})]
TranslationModel = Annotated[TranslationOptions, Preset("translation model", lambda: TRANSLATION_PRESETS)]
Suite = Annotated[SuiteOptions, Preset("suite", named_suites)]


class BaseExperiment(Options):
    """One configuration file: corpora, recipes of tokenizers and models, and their runs."""

    name: Name
    """Name of the experiment and of its folder under ``results``."""
    seed: Seed = 0
    """Random seed of the splits and of every construction; default: 0."""
    results: str = "results"
    """Folder that contains the experiment's folder; default: ``results``."""
    corpora: dict[Name, Corpus] = Field(min_length=1)
    """Corpora by name."""
    parallel_corpora: dict[Name, ParallelCorpus] = Field(default_factory=dict)
    """Sentence-aligned corpora in two languages; a corpus of type ``parallel`` reads their sides."""
    byte_lms: dict[Name, ByteLm] = Field(default_factory=dict)
    """Byte language models: a preset's name, or a mapping of options; with ``preset``, its other keys change the
    preset."""
    variants: dict[Name, AnyVariant] = Field(min_length=1)
    """Tokenizers: recipes to build, and external tokenizers."""
    sizes: list[VocabularySize] = Field(default_factory=list, min_length=1)
    """Vocabulary sizes of built variants, the 256 bytes included; required unless every variant has its own."""
    measured_on: list[str] = Field(default_factory=list)
    """Corpora on whose evaluation splits every variant is measured, in addition to its own corpus. Token n-gram models
    are trained on these corpora, too. A variant may override the list."""
    resources: dict[Name, Resource] = Field(default_factory=dict)
    """Gold data on which every tokenizer is measured: the name of a type, or a mapping of options."""
    metrics: MetricsOptions = Field(default_factory=MetricsOptions)
    """Options of the intrinsic metrics."""
    models: dict[Name, Model] = Field(default_factory=dict)
    """Language models: a preset's name, or a mapping of options; with ``preset``, its other keys change the preset."""
    tasks: TaskOptions = Field(default_factory=TaskOptions)
    """Settings of the offline tasks, which are made from the evaluation split."""
    suites: dict[Name, Suite] = Field(default_factory=dict)
    """Sets of downstream tasks: a suite's name, or a mapping of options; with ``preset``, its other keys change the
    suite."""
    runs: list[ModelRuns] = Field(default_factory=list)
    """Language models to train and test."""
    targets: dict[Name, TargetModel] = Field(default_factory=dict)
    """Language models that are planned: the report has the cost of each tokenizer at them. Nothing is trained."""
    translation_models: dict[Name, TranslationModel] = Field(default_factory=dict)
    """Translation models: a preset's name, or a mapping of options; with ``preset``, its other keys change the
    preset."""
    translations: list[TranslationRuns] = Field(default_factory=list)
    """Translation models to train and test."""
    report: ReportOptions = Field(default_factory=ReportOptions)
    """Content of the report in addition to the tables."""
    released: Path | None = None
    """Folder of the vocabularies and token counts released by the authors of "Tokenization Is More Than Compression".
    With it, ``snakemake published`` recomputes their Venn diagram and token counts; default: these are skipped."""

    @cached_property
    def folder(self) -> str:
        """Folder of this experiment's results, as a normalized path (no doubled slashes or dots)."""
        return str(Path(self.results, self.name))

    @property
    def published(self) -> str:
        """Folder of the papers' recomputed numbers, which outlive the experiment."""
        return str(Path(self.results, "published", "papers"))

    @cached_property
    def built(self) -> dict[str, Variant]:
        """Variants that the experiment builds, by name."""
        return {name: variant for name, variant in self.variants.items() if isinstance(variant, Variant)}

    @cached_property
    def external(self) -> dict[str, ExternalTokenizer]:
        """External variants, by name."""
        return {name: variant for name, variant in self.variants.items() if isinstance(variant, ExternalTokenizer)}

    def segments_documents(self, variant: str) -> bool:
        """Return True if a variant is built and its tokens may cross pre-tokens; it is then measured on documents."""
        if variant not in self.built:
            return False
        method = segmentations.find(self.segmentation_of(variant))
        return method is not None and method.segments_documents

    def segmentation_of(self, variant: str) -> str:
        """Return the segmentation of a built variant; default: that of its construction."""
        recipe = self.built[variant]
        if recipe.segmentation is not None:
            return recipe.segmentation.method
        return constructions[recipe.construction.method].segmentation_with(recipe.construction)

    def sizes_of(self, variant: str) -> Sequence[Size]:
        """Return the vocabulary sizes of a variant; ``["own"]`` for an external one."""
        return self.built[variant].sizes or self.sizes if variant in self.built else [OWN]

    def sizes_in(self, run: ModelRuns, variant: str) -> Sequence[Size]:
        """Return the vocabulary sizes of a variant in a run: the run's if given; ``["own"]`` if external."""
        return run.sizes or self.sizes_of(variant) if variant in self.built else [OWN]

    def sizes_between(self, run: TranslationRuns, source: str, target: str) -> Sequence[Size]:
        """Return the vocabulary sizes of a pair of tokenizers in a translation run.

        The run's sizes if given, otherwise those of the source, or of the target if only that is built. ``["own"]`` if
        both are external.
        """
        named = source if source in self.built or target not in self.built else target
        return run.sizes or self.sizes_of(named) if named in self.built else [OWN]

    def corpus_of(self, variant: str) -> str:
        """Return the corpus whose tokenizer split builds a variant; default: the first corpus."""
        return self.variants[variant].corpus or next(iter(self.corpora))

    def measured_on_of(self, variant: str) -> list[str]:
        """Return the corpora that a variant is measured on in addition to its own corpus, without duplicates."""
        own = self.variants[variant].measured_on
        others = self.measured_on if own is None else own
        return [corpus for corpus in dict.fromkeys(others) if corpus != self.corpus_of(variant)]

    def measured_corpora(self) -> list[str]:
        """Return every corpus that variants are measured on, without duplicates."""
        corpora = (corpus for name in self.variants for corpus in (self.corpus_of(name), *self.measured_on_of(name)))
        return list(dict.fromkeys(corpora))

    def corpora_of(self, run: ModelRuns) -> dict[tuple[str, str, Size], str]:
        """Return the corpus that each language model of a run reads, by model, variant and vocabulary size."""
        return {
            (model, variant, size): run.corpus or self.corpus_of(variant)
            for model in run.models
            for variant in run.variants
            for size in self.sizes_in(run, variant)
        }

    def baselines(self) -> dict[str, str]:
        """Return the baseline variant of each corpus that variants are measured on.

        Default: the first variant built from the corpus, or else the first external tokenizer of the corpus, or else
        the first variant that is measured on it.
        """
        first: dict[str, str] = {}
        for variant in (*self.built, *self.variants):
            first.setdefault(self.corpus_of(variant), variant)
        for variant in self.variants:
            for corpus in self.measured_on_of(variant):
                first.setdefault(corpus, variant)
        chosen = self.report.baseline or {}
        if isinstance(chosen, str):
            chosen = {self.corpus_of(chosen): chosen}
        return {corpus: chosen.get(corpus, variant) for corpus, variant in first.items()}


def section_fields(declared: Stages) -> dict[str, tuple[Any, Any]]:
    """Return type and default of each section of stages, by key.

    Raises:
        TokbenchError: the key of a section is a key or another name of every experiment.
    """
    for stage in declared:
        for section in stage.sections:
            if section.key in BaseExperiment.model_fields or hasattr(BaseExperiment, section.key):
                message = f"section '{section.key}' is of every configuration"
                raise TokbenchError(f"stage '{stage.name}': {message}; rename it")
    return {section.key: section.definition for section in declared.sections()}


if TYPE_CHECKING:
    Experiment = BaseExperiment
else:
    Experiment = create_model(
        "Experiment",
        __base__=BaseExperiment,
        __doc__=BaseExperiment.__doc__,
        __module__=__name__,
        **section_fields(stages),
    )
    """An experiment with the sections of all stages."""
