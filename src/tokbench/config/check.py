"""Mistakes that no single section can see: names that lead nowhere, combinations that cannot work."""

from collections.abc import Iterable, Iterator

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Variant
from tokbench.corpus.sources import FileSource, files_of
from tokbench.registry import TokbenchError, unknown
from tokbench.segmentation import segmentations
from tokbench.vocabulary import constructions


def check(experiment: Experiment) -> list[str]:
    """One line a mistake, ``key: what is wrong; the remedy``; empty when there is none."""
    return [
        *_corpora(experiment),
        *_variants(experiment),
        *_runs(experiment),
        *_report(experiment),
    ]


def _corpora(experiment: Experiment) -> Iterator[str]:
    for name, corpus in experiment.corpora.items():
        key = f"corpora.{name}"
        if any(share < 0 for share in corpus.splits.values()) or sum(corpus.splits.values()) > 1 + 1e-9:
            yield f"{key}.splits: shares must be positive and add up to at most 1, not {sum(corpus.splits.values()):g}"
        if isinstance(corpus.source, FileSource):
            if not corpus.source.path:
                yield f"{key}.source.path: no path given; add it, or say --config {name}=PATH on the command line"
                continue
            try:
                files_of(corpus.source)
            except TokbenchError as error:
                yield f"{key}.source.path: {error}"


def _variants(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.variants.items():
        key = f"variants.{name}"
        construction = constructions[variant.construction.method]
        if variant.corpus is not None:
            yield from _known(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        if construction.traits["source"] == "scores":
            if variant.byte_lm is None:
                known = ", ".join(experiment.byte_lms) or "none; add one under byte_lms"
                yield f"{key}.byte_lm: '{construction.name}' reads a byte language model's scores; name one ({known})"
        elif variant.byte_lm is not None:
            yield f"{key}.byte_lm: '{construction.name}' does not read scores; remove this key"
        if variant.byte_lm is not None:
            yield from _known(f"{key}.byte_lm", "byte language model", [variant.byte_lm], experiment.byte_lms)
        yield from _segmentation(key, variant)
        yield from _sizes(experiment, name, variant)


def _segmentation(key: str, variant: Variant) -> Iterator[str]:
    if variant.segmentation is None:
        return
    needs = segmentations[variant.segmentation.method].traits["needs"]
    made = segmentations[constructions[variant.construction.method].traits["segmentation"]].traits["needs"]
    if needs not in (None, made):
        fitting = [method.name for method in segmentations.methods() if method.traits["needs"] in (None, made)]
        yield (
            f"{key}.segmentation: '{variant.segmentation.method}' needs {needs}, which "
            f"'{variant.construction.method}' does not make; use one of {', '.join(fitting)}"
        )


def _sizes(experiment: Experiment, name: str, variant: Variant) -> Iterator[str]:
    alphabet = constructions[variant.construction.method].traits["alphabet"]
    key = f"variants.{name}.sizes" if variant.sizes is not None else "sizes"
    initial = getattr(variant.construction, "initial_size", None)
    for size in experiment.sizes_of(name):
        if size < alphabet:
            yield f"{key}: {size} is smaller than the alphabet of '{name}'; its smallest size is {alphabet}"
        if initial is not None and size > initial:
            yield f"{key}: {size} exceeds variants.{name}.construction.initial_size, {initial}; raise that"
    if len(set(experiment.sizes_of(name))) < len(experiment.sizes_of(name)):
        yield f"{key}: a size stands twice; remove one"


def _runs(experiment: Experiment) -> Iterator[str]:
    for index, run in enumerate(experiment.runs):
        key = f"runs.{index}"
        yield from _known(f"{key}.models", "model", run.models, experiment.models)
        yield from _known(f"{key}.variants", "variant", run.variants, experiment.variants)
        yield from _known(f"{key}.suites", "suite", run.suites, experiment.suites)
        if run.corpus is not None:
            yield from _known(f"{key}.corpus", "corpus", [run.corpus], experiment.corpora)
        for variant in run.variants:
            sizes = experiment.sizes_of(variant) if variant in experiment.variants else []
            wrong = [size for size in run.sizes or [] if size not in sizes]
            if sizes and wrong:
                yield f"{key}.sizes: '{variant}' is not built at {wrong[0]}; choose among {', '.join(map(str, sizes))}"


def _report(experiment: Experiment) -> Iterator[str]:
    report = experiment.report
    named = ([report.baseline] if report.baseline else []) + report.venn
    yield from _known("report", "variant", named, experiment.variants)


def _known(key: str, kind: str, names: list[str], known: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{key}: {unknown(name, kind, known)}"
