"""Targets of the rules: all tokenizers, measurements, models and tests of an experiment, and their options as flags.

Also the sentences that a report shows, the corpora whose checksums the leaderboard lists, token n-gram models, and
perturbations.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokbench.building import own_segmentation
from tokbench.config.experiment import Experiment
from tokbench.config.measures import CausalEffectOptions, NgramBitsOptions, RobustnessOptions
from tokbench.config.sections import Size
from tokbench.construction import constructions
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.pretokenization.patterns.coverage import spans_words
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.segmentation import segmentations
from tokbench.tokenizer.folder import OWN
from tokbench.workflow.shell import canonical


class TokenizerTarget(NamedTuple):
    """A variant at a vocabulary size, or an external tokenizer at its own size."""

    variant: str
    size: Size


class MeasurementTarget(NamedTuple):
    """A tokenizer on a corpus other than its own."""

    variant: str
    size: Size
    on: str


class Bounded(NamedTuple):
    """Corpus, pre-tokenization and size of one bound."""

    corpus: str
    scheme: str
    size: int


class Trained(NamedTuple):
    """A model with a tokenizer."""

    model: str
    variant: str
    size: Size


class TestTarget(NamedTuple):
    """A model with a tokenizer on a suite."""

    model: str
    variant: str
    size: Size
    suite: str


def all_tokenizers(experiment: Experiment) -> list[TokenizerTarget]:
    """Return all tokenizers."""
    return [TokenizerTarget(variant, size) for variant in experiment.variants for size in experiment.sizes_of(variant)]


def all_measured(experiment: Experiment) -> list[MeasurementTarget]:
    """Return all tokenizers with the corpora that they are measured on in addition to their own."""
    return [
        MeasurementTarget(one.variant, one.size, corpus)
        for one in all_tokenizers(experiment)
        for corpus in experiment.measured_on_of(one.variant)
    ]


def all_counted(experiment: Experiment) -> list[MeasurementTarget]:
    """Return all tokenizers with their own corpus and those that they are measured on, without corpora of counts."""
    return [
        MeasurementTarget(one.variant, one.size, corpus)
        for one in all_tokenizers(experiment)
        for corpus in (experiment.corpus_of(one.variant), *experiment.measured_on_of(one.variant))
        if not experiment.corpora[corpus].counted
    ]


def all_evaluated(experiment: Experiment) -> list[str]:
    """Return all corpora with documents on whose evaluation split a tokenizer is measured."""
    return list(dict.fromkeys(one.on for one in all_counted(experiment)))


def splits_made_from(experiment: Experiment, corpus: str) -> list[tuple[str, str]]:
    """Return corpus and split of all training text of the tokenizers and models that are tested on a corpus.

    A split that is identical to another by ``splits`` is named once, and the evaluation split is excluded.
    """
    read = ["tokenizer", *(["byte_lm"] if experiment.byte_lms else []), *(["pretraining"] if experiment.runs else [])]
    own = [(corpus, split) for split in read]
    built = [
        (experiment.corpus_of(name), "tokenizer")
        for name in experiment.built
        if corpus in experiment.measured_on_of(name)
    ]
    found: dict[tuple[str, str], None] = {}
    for name, split in own + built:
        splits: dict[str, float | str] = dict(experiment.corpora[name].splits.items())
        share = splits.get(split, 0.0)
        target = share if isinstance(share, str) else split
        same = name == corpus and target == splits.get("evaluation")
        if splits.get(target) and target != "evaluation" and not same and not experiment.corpora[name].counted:
            found[name, target] = None
    return list(found)


def all_bounds(experiment: Experiment) -> list[Bounded]:
    """Return the distinct corpora, pre-tokenizations and sizes of the built tokenizers.

    Pre-tokens that may be sentences or documents have too many substrings for a bound, and tokens that may cross
    pre-tokens have none.
    The pre-tokenization and size of external tokenizers are known only after import; they use the bounds of built ones
    with the same values.
    """
    schemes = {
        name: pretokenization_of(variant.pretokenization)
        for name, variant in experiment.built.items()
        if not experiment.segments_documents(name)
    }
    found = (
        Bounded(corpus, schemes[name].slug, size)
        for name, variant in experiment.built.items()
        if name in schemes and not _are_long(schemes[name])
        for corpus in (experiment.corpus_of(name), *experiment.measured_on_of(name))
        for size in variant.sizes or experiment.sizes
    )
    return list(dict.fromkeys(found))


def _are_long(scheme: Pretokenization) -> bool:
    """Return whether pre-tokens may be sentences or documents."""
    if scheme.splits is None or len(scheme.splits) > 1:
        return False
    try:
        return not scheme.splits or spans_words(scheme.splits[0])
    except LanguageError:
        return False


def all_tested(experiment: Experiment) -> list[TestTarget]:
    """Return all models with all suites of their runs, without duplicates."""
    found = (
        TestTarget(model, variant, size, suite)
        for run in experiment.runs
        for model in run.models
        for variant in run.variants
        for size in experiment.sizes_in(run, variant)
        for suite in run.suites
    )
    return list(dict.fromkeys(found))


class CheckpointTarget(NamedTuple):
    """A checkpoint of a model on a suite; the share of the training is text."""

    model: str
    variant: str
    size: Size
    share: str
    suite: str


def all_along(experiment: Experiment) -> list[CheckpointTarget]:
    """Return all checkpoints to evaluate, on all suites of their model's runs."""
    return [
        CheckpointTarget(test.model, test.variant, test.size, repr(share), test.suite)
        for test in all_tested(experiment)
        for share in experiment.models[test.model].evaluate_at
    ]


def all_trained(experiment: Experiment) -> list[Trained]:
    """Return all language models that are tested, without duplicates."""
    return list(dict.fromkeys(Trained(test.model, test.variant, test.size) for test in all_tested(experiment)))


def baseline_flags(experiment: Experiment) -> list[str]:
    """Return the baseline variant of each corpus as flags."""
    chosen = experiment.baselines().items()
    return [word for corpus, variant in chosen for word in ("--baseline", f"{corpus}={variant}")]


def pilot_tables(experiment: Experiment) -> list[str]:
    """Return the table of a pilot's comparisons; empty if there was no pilot."""
    pilot = experiment.statistics.pilot
    return [] if pilot is None else [str(pilot / "bits_comparisons.parquet")]


def pilot_flags(experiment: Experiment) -> list[str]:
    """Return the pilot and the difference to detect as flags; empty if there was no pilot."""
    pilot = experiment.statistics.pilot
    return [] if pilot is None else ["--pilot", str(pilot), "--detect", repr(experiment.statistics.detect)]


def unit_tables(experiment: Experiment) -> list[str]:
    """Return the tables of units of all corpora that have one."""
    return list(dict.fromkeys(str(corpus.units) for corpus in experiment.corpora.values() if corpus.units))


def unit_flags(experiment: Experiment) -> list[str]:
    """Return the table of units of each corpus that has one, as flags."""
    units = {name: corpus.units for name, corpus in experiment.corpora.items() if corpus.units}
    return [word for name, path in units.items() for word in ("--units", f"{name}={path}")]


def venn_flags(experiment: Experiment) -> list[str]:
    """Return three variants for each Venn diagram as flags: those of the report, or the first three built ones."""
    first = list(experiment.built)[:3]
    chosen = experiment.report.venn_triples or [first] * (len(first) == 3)
    return [word for triple in chosen for variant in triple for word in ("--venn", variant)]


def overlap_flags(experiment: Experiment) -> list[str]:
    """Return the tokens that the table of common tokens counts, as a flag; empty for all."""
    counted = experiment.report.overlaps
    return [] if counted == "all" else ["--overlaps", counted]


def recipes(experiment: Experiment) -> str:
    """Return all options of variants and models, each variant with its segmentation and the name of its
    pre-tokenizer."""
    variants: dict[str, dict[str, Any]] = {
        name: {"corpus": experiment.corpus_of(name), "from": variant.form}
        for name, variant in experiment.elsewhere.items()
    }
    for name, variant in experiment.built.items():
        cut = variant.segmentation
        if cut is None:
            construction = constructions[variant.construction.method]
            method, shared = own_segmentation(construction, variant.construction)
            options = segmentations[method].options(**shared)
            segmentation = {"method": method, **options.model_dump(mode="json")}
        else:
            segmentation = cut.model_dump(mode="json")
        variants[name] = {
            "corpus": experiment.corpus_of(name),
            "pretokenization": variant.pretokenization,
            "pretokenizer": pretokenization_of(variant.pretokenization).label,
            "construction": _by_name(variant.construction),
            "segmentation": segmentation,
        }
    models = {name: model.recipe() for name, model in experiment.models.items()}
    effects = {} if experiment.causal_effect is None else {"causal_effect": experiment.causal_effect.recipe()}
    translating = {name: model.model_dump(mode="json") for name, model in experiment.translation_models.items()}
    return canonical({"variants": variants, "models": models, "translation_models": translating, **effects})


def _by_name(construction: Any) -> dict[str, Any]:
    """Return all options of a construction, with the name of its initial vocabulary in place of its options."""
    values: dict[str, Any] = construction.model_dump(mode="json")
    return values | ({"initial": str(construction.initial)} if isinstance(values.get("initial"), dict) else {})


TOKENIZERS = 12
"""Maximum tokenizers per sentence: the baseline, then the first in the configuration."""
CORPORA = 24
"""Maximum corpora with sentences, the first in the configuration."""


@dataclass(frozen=True)
class ExampleTargets:
    """The example sentences of one experiment's report."""

    experiment: Experiment

    @property
    def corpora(self) -> list[str]:
        """Corpora of text from which variants are built."""
        built = dict.fromkeys(map(self.experiment.corpus_of, self.experiment.variants))
        return [corpus for corpus in built if not self.experiment.corpora[corpus].counted][:CORPORA]

    @property
    def any(self) -> bool:
        """Whether there is a sentence to show."""
        return bool(self.corpora or self.experiment.report.examples)

    def of(self, corpus: str) -> list[TokenizerTarget]:
        """Return the tokenizers for the sentences of a corpus."""
        own = (one for one in self.experiment.variants if self.experiment.corpus_of(one) == corpus)
        return self._first([self.experiment.baselines()[corpus], *own])

    @property
    def shown(self) -> list[TokenizerTarget]:
        """Tokenizers for the user's sentences."""
        if not self.experiment.report.examples:
            return []
        return self._first([*self.experiment.baselines().values(), *self.experiment.variants])

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """All tokenizers of sentences."""
        return list(dict.fromkeys([*self.shown, *(one for corpus in self.corpora for one in self.of(corpus))]))

    @property
    def recipe(self) -> str:
        """Tokenizers of each group of sentences."""
        return canonical(
            {
                "examples": self.experiment.report.examples,
                "shown": _named(self.shown),
                "corpora": {corpus: _named(self.of(corpus)) for corpus in self.corpora},
            }
        )

    @property
    def shards(self) -> list[str]:
        """The first shard of each corpus's evaluation split, as flags."""
        folder = f"{self.experiment.folder}/corpus"
        return [
            word
            for corpus in self.corpora
            for word in ("--shard", f"{corpus}={folder}/{corpus}/evaluation/0000.parquet")
        ]

    def _first(self, variants: Iterable[str]) -> list[TokenizerTarget]:
        """Return variants at the largest size of the first built one, or at their own largest size if they lack it."""
        names = list(dict.fromkeys(variants))[:TOKENIZERS]
        built = {
            name: self.experiment.built[name].sizes or self.experiment.sizes
            for name in names
            if name in self.experiment.built
        }
        wanted = max(next(iter(built.values()), [0]))
        largest = {name: wanted if wanted in sizes else max(sizes) for name, sizes in built.items()}
        return [TokenizerTarget(name, largest.get(name, OWN)) for name in names]


def _named(tokenizers: Iterable[TokenizerTarget]) -> list[str]:
    return [f"{one.variant}/{one.size}" for one in tokenizers]


@dataclass(frozen=True)
class ValidatedCorpora:
    """The corpora of one experiment that its tokenizers are built from and measured on."""

    experiment: Experiment

    @property
    def documents(self) -> list[str]:
        """Corpora with documents."""
        return [name for name in self.experiment.measured_corpora() if not self.experiment.corpora[name].counted]

    @property
    def counts(self) -> list[str]:
        """Files of the corpora of counts, relative to the folder of counts and without their ending."""
        found = (
            f"{corpus}/{split}/{pretokenization_of(variant.pretokenization).slug}"
            for name, variant in self.experiment.built.items()
            for corpus in (self.experiment.corpus_of(name), *self.experiment.measured_on_of(name))
            if self.experiment.corpora[corpus].counted
            for split in (("tokenizer", "evaluation") if corpus == self.experiment.corpus_of(name) else ("evaluation",))
        )
        return list(dict.fromkeys(found))


def without_defaults(experiment: Experiment) -> str:
    """Return the experiment as JSON in the order of the configuration, with presets expanded and without defaults."""
    written = experiment.model_dump(mode="json", exclude_unset=True)
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class NgramModels:
    """The token n-gram models of one experiment's tokenizers."""

    experiment: Experiment

    @property
    def options(self) -> NgramBitsOptions:
        """Their options."""
        return self.experiment.ngram_bits or NgramBitsOptions()

    @property
    def budgets(self) -> list[str]:
        """Bytes of their training text, as flags."""
        return [word for size in self.options.training_bytes or () for word in ("--training-bytes", str(size))]

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """The tokenizers with n-gram models: all, or none if these are not configured."""
        return [] if self.experiment.ngram_bits is None else all_tokenizers(self.experiment)

    @property
    def tokenizers_on_others(self) -> list[MeasurementTarget]:
        """The tokenizers with n-gram models on corpora other than their own."""
        return [] if self.experiment.ngram_bits is None else all_measured(self.experiment)


def document_targets(experiment: Experiment) -> list[MeasurementTarget]:
    """Return every tokenizer with each corpus on whose documents it is measured; empty if none are configured."""
    return [] if experiment.document_metrics is None else all_counted(experiment)


@dataclass(frozen=True)
class Robustness:
    """The perturbations of one experiment, and the tokenizers measured on them."""

    experiment: Experiment

    @property
    def flags(self) -> list[str]:
        """Their options, as flags."""
        options = self.experiment.robustness or RobustnessOptions()
        settings = ("--rate", options.rate, "--bytes", options.bytes, "--seed", options.seed)
        return [*(word for kind in options.kinds for word in ("--kind", kind)), *map(str, settings)]

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """The tokenizers to measure: all, or none if no robustness is configured."""
        return [] if self.experiment.robustness is None else all_tokenizers(self.experiment)


@dataclass(frozen=True)
class TokenEffects:
    """The language models of one experiment whose tokens are scored around the end of the vocabulary.

    Wildcards name a model, a variant and a vocabulary size.
    """

    experiment: Experiment

    @property
    def models(self) -> list[Trained]:
        """The models of the section's variants; none without the section."""
        options = self.experiment.causal_effect
        if options is None:
            return []
        named = options.variants_of(self.experiment.runs)
        return [one for one in all_trained(self.experiment) if one.variant in named]

    def reach(self, wildcards: Any) -> int:
        """Return the number of tokens to score on each side of the end of the vocabulary."""
        options = self.experiment.causal_effect or CausalEffectOptions()
        return options.reach_at(int(wildcards.size))

    def flags(self, wildcards: Any) -> list[str]:
        """Return the options of scoring, as flags."""
        options = self.experiment.causal_effect or CausalEffectOptions()
        most = [] if options.document_bytes is None else ["--document-bytes", str(options.document_bytes)]
        return ["--reach", str(self.reach(wildcards)), *most]

    def longer(self, wildcards: Any) -> int:
        """Return the size of the longer vocabulary."""
        return int(wildcards.size) + self.reach(wildcards)
