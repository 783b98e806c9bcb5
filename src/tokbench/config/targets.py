"""Targets of the workflow: all tokenizers, measurements, models, checkpoints and tests of an experiment."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tokbench.config.sections import Size, TranslationRuns

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


class TokenizerTarget(NamedTuple):
    """A variant at a vocabulary size, or an external tokenizer at its own size."""

    variant: str
    size: Size


class ResourceTarget(NamedTuple):
    """A tokenizer on gold data."""

    variant: str
    size: Size
    resource: str


class CorpusTarget(NamedTuple):
    """A corpus."""

    corpus: str


class ParallelTarget(NamedTuple):
    """A parallel corpus."""

    parallel: str


class SingleTarget(NamedTuple):
    """The target of a stage that runs once in an experiment."""


class MeasurementTarget(NamedTuple):
    """A tokenizer on a corpus other than its own."""

    variant: str
    size: Size
    on: str


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


def all_tokenizers(experiment: "Experiment") -> list[TokenizerTarget]:
    """Return all tokenizers."""
    return [TokenizerTarget(variant, size) for variant in experiment.variants for size in experiment.sizes_of(variant)]


def all_measured(experiment: "Experiment") -> list[MeasurementTarget]:
    """Return all tokenizers with the corpora that they are measured on in addition to their own."""
    return [
        MeasurementTarget(*tokenizer, corpus)
        for tokenizer in all_tokenizers(experiment)
        for corpus in experiment.measured_on_of(tokenizer.variant)
    ]


def all_resources(experiment: "Experiment") -> list[ResourceTarget]:
    """Return all tokenizers with all gold data."""
    return [
        ResourceTarget(*tokenizer, resource)
        for resource in experiment.resources
        for tokenizer in all_tokenizers(experiment)
    ]


def all_counted(experiment: "Experiment") -> list[MeasurementTarget]:
    """Return all tokenizers with their own corpus and those that they are measured on, without corpora of counts."""
    return [
        MeasurementTarget(*tokenizer, corpus)
        for tokenizer in all_tokenizers(experiment)
        for corpus in (experiment.corpus_of(tokenizer.variant), *experiment.measured_on_of(tokenizer.variant))
        if not experiment.corpora[corpus].counted
    ]


def all_evaluated(experiment: "Experiment") -> list[str]:
    """Return all corpora with documents on whose evaluation split a tokenizer is measured."""
    return list(dict.fromkeys(target.on for target in all_counted(experiment)))


def all_drawn(experiment: "Experiment") -> list[CorpusTarget]:
    """Return the corpora on which a tokenizer or a model is measured, and whose documents have domains, or units by
    their numbers in a draw."""
    tested = [corpus for run in experiment.runs for corpus in experiment.corpora_of(run).values()]
    corpora = {name: experiment.corpora[name] for name in (*all_evaluated(experiment), *tested)}
    return [CorpusTarget(name) for name, corpus in corpora.items() if corpus.sources or (corpus.units and corpus.draw)]


def single_target(experiment: "Experiment") -> list[SingleTarget]:
    """Return the target of a stage that runs once."""
    return [SingleTarget()]


def all_tested(experiment: "Experiment") -> list[TestTarget]:
    """Return all models with all suites of their runs, without duplicates."""
    tests = (
        TestTarget(model, variant, size, suite)
        for run in experiment.runs
        for model in run.models
        for variant in run.variants
        for size in experiment.sizes_in(run, variant)
        for suite in run.suites
    )
    return list(dict.fromkeys(tests))


class CheckpointTarget(NamedTuple):
    """A checkpoint of a model on a suite; the share of the training is text."""

    model: str
    variant: str
    size: Size
    share: str
    suite: str


def all_checkpoints(experiment: "Experiment") -> list[CheckpointTarget]:
    """Return all checkpoints to evaluate, on all suites of their model's runs."""
    return [
        CheckpointTarget(test.model, test.variant, test.size, repr(share), test.suite)
        for test in all_tested(experiment)
        for share in experiment.models[test.model].evaluate_at
    ]


def all_trained(experiment: "Experiment") -> list[Trained]:
    """Return all language models that are tested, without duplicates."""
    return list(dict.fromkeys(Trained(test.model, test.variant, test.size) for test in all_tested(experiment)))


class TrainedTranslation(NamedTuple):
    """A translation model with its corpus, languages, variants and vocabulary size."""

    model: str
    parallel: str
    source: str
    target: str
    variant: str
    target_variant: str
    size: Size

    @property
    def path(self) -> str:
        """Path of its files, below their stage's folder."""
        return "/".join(map(str, self))


class TestedTranslation(NamedTuple):
    """A translation model on a test."""

    path: str
    test: str


def all_translations(experiment: "Experiment") -> dict[TrainedTranslation, TranslationRuns]:
    """Return all configured translation models, each with the first entry that names it."""
    trained: dict[TrainedTranslation, TranslationRuns] = {}
    for run in experiment.translations:
        for translation in _translations(experiment, run):
            trained.setdefault(translation, run)
    return trained


def _translations(experiment: "Experiment", run: TranslationRuns) -> Iterator[TrainedTranslation]:
    for model in run.models:
        for parallel in run.corpora:
            for pair in run.pairs():
                for size in experiment.sizes_between(run, *pair):
                    yield TrainedTranslation(model, parallel, run.source, run.target, *pair, size)


def all_tested_translations(experiment: "Experiment") -> list[TestedTranslation]:
    """Return all translation models on all tests of their corpora."""
    corpora = experiment.parallel_corpora
    return [
        TestedTranslation(trained.path, test)
        for trained in all_translations(experiment)
        for test in corpora[trained.parallel].tests
    ]
