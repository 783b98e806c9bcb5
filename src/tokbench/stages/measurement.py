"""Stages that measure tokenizers: on text, on documents and on gold data."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tokbench.config.sections import DocumentMetricsOptions
from tokbench.config.targets import (
    MeasurementTarget,
    all_counted,
    all_measured,
    all_resources,
    all_tokenizers,
)
from tokbench.errors import unknown_names
from tokbench.metric import Sight, families_of
from tokbench.resource import resource_types
from tokbench.stage import Result, Section, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


RECORD = ("tokbench.tokenizer.tokenizer:Tokenizer", "tokbench.intrinsic.tokenizer:record_of")
"""Reader of the tokenizer, and the form in which measurements are written."""
OF_TEXT: tuple[Sight, ...] = ("text", "languages")
"""Inputs of the metrics that are computed on text or on counts of pre-tokens."""


def _mistakes(experiment: "Experiment") -> Iterator[str]:
    if (baseline := DOCUMENT_METRICS.of(experiment).baseline) is not None:
        yield from unknown_names("document_metrics.baseline", "variant", [baseline], experiment.variants)
    for corpus in experiment.measured_corpora():
        if corpus in experiment.corpora and experiment.corpora[corpus].counted:
            yield f"document_metrics: corpus '{corpus}' contains counts and no documents; leave the key out"
            break


DOCUMENT_METRICS = Section(
    "document_metrics",
    DocumentMetricsOptions,
    "Metrics of documents (numbers, operators, sequences and others) of every tokenizer, on the evaluation splits that "
    "it is measured on; ``{}`` for their default options. Default: none are computed.",
    mistakes=_mistakes,
)


def _documents(experiment: "Experiment") -> list[MeasurementTarget]:
    return [] if DOCUMENT_METRICS.of(experiment) is None else all_counted(experiment)


def _mixed(experiment: "Experiment") -> list[MeasurementTarget]:
    return [target for target in all_counted(experiment) if experiment.corpora[target.on].sources]


def metrics_of(*sights: Sight) -> Callable[["Experiment", Any], list[str]]:
    """Return the function that returns the definitions of all metrics with one of these inputs, and of their record."""
    return lambda experiment, wildcards: [*RECORD, *(method.definition for method in families_of(*sights))]


def on_documents(experiment: "Experiment", variant: str) -> bool:
    """Return whether a variant is measured on documents, not on counts of pre-tokens."""
    return variant not in experiment.built or experiment.segments_documents(variant)


def _measure(experiment: "Experiment", wildcards: Any) -> str:
    of = "text_files" if on_documents(experiment, wildcards.variant) else "counts_file"
    return f"tokbench.intrinsic.files:measure_{of}"


def _gold_metrics(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the reader of a resource, and all metrics that are computed on it."""
    kind = resource_types[experiment.resources[wildcards.resource].type]
    by_word = f"tokbench.intrinsic.resource:{'boundaries' if kind.gold == 'segmentations' else 'nothing'}_by_word"
    return [kind.definition, by_word, *metrics_of(kind.gold)(experiment, wildcards)]


MEASURE = stages.add(
    Stage(
        "measure",
        run=_measure,
        results=(
            Result("intrinsic", "intrinsic/{variant}/{size}.json", all_tokenizers, "Measurements of a tokenizer"),
        ),
        methods=metrics_of(*OF_TEXT),
    )
)
MEASURE_ON = stages.add(
    Stage(
        "measure_on",
        run=_measure,
        results=(Result("intrinsic", "intrinsic/{variant}/{size}/on/{on}.json", all_measured),),
        methods=metrics_of(*OF_TEXT),
    )
)
MEASURE_DOMAINS = stages.add(
    Stage(
        "measure_domains",
        run="tokbench.intrinsic.files:measure_text_files",
        results=(
            Result(
                "domain_measurements",
                "domain_measurements/{variant}/{size}/{on}.json",
                _mixed,
                "Measurements of a tokenizer by domain of a mixture",
            ),
        ),
        methods=metrics_of("text"),
    )
)
MEASURE_RESOURCE = stages.add(
    Stage(
        "measure_resource",
        run="tokbench.intrinsic.resource:measure_resource",
        results=(
            Result("intrinsic", "intrinsic/{variant}/{size}/{resource}.json", all_resources),
            Result(
                "words",
                "words/{variant}/{size}/{resource}.json",
                all_resources,
                "A tokenizer's boundaries in every gold word",
            ),
        ),
        methods=_gold_metrics,
    )
)
MEASURE_DOCUMENTS = stages.add(
    Stage(
        "measure_documents",
        run="tokbench.intrinsic.files:measure_document_files",
        results=(Result("intrinsic", "document_metrics/{variant}/{size}/{on}.json", _documents),),
        sections=(DOCUMENT_METRICS,),
        methods=metrics_of("documents"),
    )
)
COUNT_TOKENS = stages.add(
    Stage(
        "count_tokens",
        run="tokbench.intrinsic.document_tokens:write_document_tokens",
        results=(
            Result("tokens", "tokens/{variant}/{size}/{on}.json", all_counted, "Token counts of every document"),
            Result("", "speeds/{variant}/{size}/{on}.json", all_counted),
        ),
    )
)
