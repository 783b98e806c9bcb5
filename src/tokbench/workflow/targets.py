"""What the rules ask of a whole experiment: every tokenizer, every model, every test, and what tells them apart.

What the rules ask of the sentences that a report shows: which tokenizers cut them.

What the rule of the leaderboard asks of an experiment: which corpora it tells the checksums of.

What the rules of the report ask of an experiment.

What the rules ask of an experiment's token n-gram models.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokbench.building import own_segmentation
from tokbench.config.experiment import Experiment
from tokbench.config.sections import NgramBitsOptions, Size
from tokbench.construction import constructions
from tokbench.pretokenization import pretokenization_of
from tokbench.segmentation import segmentations
from tokbench.tokenizer.folder import OWN
from tokbench.workflow.shell import canonical


class TokenizerTarget(NamedTuple):
    """A variant at a vocabulary size, or one that was made elsewhere at its own."""

    variant: str
    size: Size


class MeasurementTarget(NamedTuple):
    """A tokenizer on a corpus beside its own."""

    variant: str
    size: Size
    on: str


class Bounded(NamedTuple):
    """What one bound holds for."""

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
    """Every tokenizer."""
    return [TokenizerTarget(variant, size) for variant in experiment.variants for size in experiment.sizes_of(variant)]


def all_measured(experiment: Experiment) -> list[MeasurementTarget]:
    """Every tokenizer on every corpus that it is measured on beside its own."""
    return [
        MeasurementTarget(one.variant, one.size, corpus)
        for one in all_tokenizers(experiment)
        for corpus in experiment.measured_on_of(one.variant)
    ]


def all_counted(experiment: Experiment) -> list[MeasurementTarget]:
    """Every tokenizer on its own corpus and on those beside it, as far as these have documents."""
    return [
        MeasurementTarget(one.variant, one.size, corpus)
        for one in all_tokenizers(experiment)
        for corpus in (experiment.corpus_of(one.variant), *experiment.measured_on_of(one.variant))
        if not experiment.corpora[corpus].counted
    ]


def all_evaluated(experiment: Experiment) -> list[str]:
    """Every corpus on whose evaluation split a tokenizer is measured, as far as these have documents."""
    return list(dict.fromkeys(one.on for one in all_counted(experiment)))


def splits_made_from(experiment: Experiment, corpus: str) -> list[tuple[str, str]]:
    """Corpus and split of the texts that tokenizers and models are made from that are tested on a corpus.

    A split that is the same as another by ``splits`` is named once, and the evaluation split itself is left out.
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
    """Every corpus, pre-tokenization and size that a tokenizer has, each once.

    Documents that are not cut have too many substrings to bound what they need. Both are known of
    tokenizers made elsewhere only once these are read: they have the bounds of built ones that share both.
    """
    schemes = {name: pretokenization_of(variant.pretokenization) for name, variant in experiment.built.items()}
    found = (
        Bounded(corpus, schemes[name].slug, size)
        for name, variant in experiment.built.items()
        for corpus in (experiment.corpus_of(name), *experiment.measured_on_of(name))
        for size in variant.sizes or experiment.sizes
        if schemes[name].splits != ()
    )
    return list(dict.fromkeys(found))


def all_tested(experiment: Experiment) -> list[TestTarget]:
    """Every model on every suite of its runs, each once."""
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
    """A checkpoint of a model on a suite; the share of the training as text."""

    model: str
    variant: str
    size: Size
    share: str
    suite: str


def all_along(experiment: Experiment) -> list[CheckpointTarget]:
    """Every checkpoint that is kept, on every suite of its model's runs."""
    return [
        CheckpointTarget(test.model, test.variant, test.size, repr(share), test.suite)
        for test in all_tested(experiment)
        for share in experiment.models[test.model].evaluate_at
    ]


def all_trained(experiment: Experiment) -> list[Trained]:
    """Every language model that is tested, each once."""
    return list(dict.fromkeys(Trained(test.model, test.variant, test.size) for test in all_tested(experiment)))


def baseline_flags(experiment: Experiment) -> list[str]:
    """The variant to which the others are relative, by corpus."""
    chosen = experiment.baselines().items()
    return [word for corpus, variant in chosen for word in ("--baseline", f"{corpus}={variant}")]


def pilot_tables(experiment: Experiment) -> list[str]:
    """The table of a pilot's comparisons, where there was a pilot."""
    pilot = experiment.statistics.pilot
    return [] if pilot is None else [str(pilot / "bits_comparisons.parquet")]


def pilot_flags(experiment: Experiment) -> list[str]:
    """The pilot and the difference that is to be seen; nothing where there was none."""
    pilot = experiment.statistics.pilot
    return [] if pilot is None else ["--pilot", str(pilot), "--detect", repr(experiment.statistics.detect)]


def unit_tables(experiment: Experiment) -> list[str]:
    """The tables of units of all corpora that have one."""
    return list(dict.fromkeys(str(corpus.units) for corpus in experiment.corpora.values() if corpus.units))


def unit_flags(experiment: Experiment) -> list[str]:
    """The table of units of each corpus that has one."""
    units = {name: corpus.units for name, corpus in experiment.corpora.items() if corpus.units}
    return [word for name, path in units.items() for word in ("--units", f"{name}={path}")]


def venn_flags(experiment: Experiment) -> list[str]:
    """Three variants for each Venn diagram: the report's, or the first three that are built; none of fewer."""
    first = list(experiment.built)[:3]
    chosen = experiment.report.venn_triples or [first] * (len(first) == 3)
    return [word for triple in chosen for variant in triple for word in ("--venn", variant)]


def overlap_flags(experiment: Experiment) -> list[str]:
    """Which tokens the table of common tokens counts; nothing for all."""
    counted = experiment.report.overlaps
    return [] if counted == "all" else ["--overlaps", counted]


def recipes(experiment: Experiment) -> str:
    """Variants and models in full, each variant with its segmentation and the name of its pre-tokenizer."""
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
    translating = {name: model.model_dump(mode="json") for name, model in experiment.translation_models.items()}
    return canonical({"variants": variants, "models": models, "translation_models": translating})


def _by_name(construction: Any) -> dict[str, Any]:
    """A construction in full, with the name of its initial vocabulary, by which papers call it."""
    values: dict[str, Any] = construction.model_dump(mode="json")
    return values | ({"initial": str(construction.initial)} if isinstance(values.get("initial"), dict) else {})


TOKENIZERS = 12
"""Tokenizers that a sentence is shown of: the baseline's, then the first of the configuration."""
CORPORA = 24
"""Corpora of which sentences are shown, the first of the configuration."""


@dataclass(frozen=True)
class ExampleTargets:
    """The sentences of one experiment."""

    experiment: Experiment

    @property
    def corpora(self) -> list[str]:
        """Corpora of text that variants are built from."""
        built = dict.fromkeys(map(self.experiment.corpus_of, self.experiment.variants))
        return [corpus for corpus in built if not self.experiment.corpora[corpus].counted][:CORPORA]

    @property
    def any(self) -> bool:
        """Whether there is a sentence to show."""
        return bool(self.corpora or self.experiment.report.examples)

    def of(self, corpus: str) -> list[TokenizerTarget]:
        """Tokenizers that cut the sentences of a corpus."""
        own = (one for one in self.experiment.variants if self.experiment.corpus_of(one) == corpus)
        return self._first([self.experiment.baselines()[corpus], *own])

    @property
    def shown(self) -> list[TokenizerTarget]:
        """Tokenizers that cut the user's sentences."""
        if not self.experiment.report.examples:
            return []
        return self._first([*self.experiment.baselines().values(), *self.experiment.variants])

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """All of them."""
        return list(dict.fromkeys([*self.shown, *(one for corpus in self.corpora for one in self.of(corpus))]))

    @property
    def recipe(self) -> str:
        """Which tokenizers cut what."""
        return canonical(
            {
                "examples": self.experiment.report.examples,
                "shown": _named(self.shown),
                "corpora": {corpus: _named(self.of(corpus)) for corpus in self.corpora},
            }
        )

    @property
    def shards(self) -> list[str]:
        """The first shard of each corpus's evaluation split, as flags of the command line."""
        folder = f"{self.experiment.folder}/corpus"
        return [
            word
            for corpus in self.corpora
            for word in ("--shard", f"{corpus}={folder}/{corpus}/evaluation/0000.parquet")
        ]

    def _first(self, variants: Iterable[str]) -> list[TokenizerTarget]:
        """Variants at the largest size of the first that is built, or at their own largest where they lack that."""
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
        """Those with documents."""
        return [name for name in self.experiment.measured_corpora() if not self.experiment.corpora[name].counted]

    @property
    def counts(self) -> list[str]:
        """Files of those that are counts alone, below the folder of counts and without their ending."""
        found = (
            f"{corpus}/{split}/{pretokenization_of(variant.pretokenization).slug}"
            for name, variant in self.experiment.built.items()
            for corpus in (self.experiment.corpus_of(name), *self.experiment.measured_on_of(name))
            if self.experiment.corpora[corpus].counted
            for split in (("tokenizer", "evaluation") if corpus == self.experiment.corpus_of(name) else ("evaluation",))
        )
        return list(dict.fromkeys(found))


def without_defaults(experiment: Experiment) -> str:
    """Return the experiment as JSON in the order of the configuration, presets in full, without defaults."""
    written = experiment.model_dump(mode="json", exclude_unset=True)
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class NgramModels:
    """The token n-gram models of one experiment's tokenizers, where it asks for them."""

    experiment: Experiment

    @property
    def options(self) -> NgramBitsOptions:
        """What is asked of them."""
        return self.experiment.ngram_bits or NgramBitsOptions()

    @property
    def budgets(self) -> list[str]:
        """Bytes that they are trained on, as flags."""
        return [word for size in self.options.training_bytes or () for word in ("--training-bytes", str(size))]

    @property
    def tokenizers(self) -> list[TokenizerTarget]:
        """The tokenizers that have them: all, or none."""
        return [] if self.experiment.ngram_bits is None else all_tokenizers(self.experiment)

    @property
    def tokenizers_on_others(self) -> list[MeasurementTarget]:
        """Those that have them on corpora beside their own."""
        return [] if self.experiment.ngram_bits is None else all_measured(self.experiment)
