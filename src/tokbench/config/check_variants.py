"""Mistakes in variants that no single section can see, of those that are built and those that were made elsewhere."""

from collections.abc import Iterable, Iterator

from tokbench.config.elsewhere import mistakes_elsewhere
from tokbench.config.experiment import Experiment
from tokbench.config.sections import Variant, files_among
from tokbench.construction import constructions
from tokbench.errors import TokbenchError, unknown
from tokbench.inputs.paths import path_mistakes
from tokbench.segmentation import segmentations


def variant_mistakes(experiment: Experiment) -> Iterator[str]:
    """One line a mistake, ``key: what is wrong; the remedy``."""
    yield from _measured(experiment)
    yield from _built(experiment)
    yield from _elsewhere(experiment)
    yield from _sizes(experiment)


def unknown_names(key: str, kind: str, names: Iterable[str], there: Iterable[str]) -> Iterator[str]:
    """One line for each name that is not among those that there are."""
    for name in names:
        if name not in there:
            yield f"{key}: {unknown(name, kind, there)}"


def _measured(experiment: Experiment) -> Iterator[str]:
    """Corpora that variants are measured on: they must be there, and be text for tokenizers made elsewhere."""
    yield from unknown_names("measured_on", "corpus", experiment.measured_on, experiment.corpora)
    for name, variant in experiment.variants.items():
        key = f"variants.{name}.measured_on"
        yield from unknown_names(key, "corpus", variant.measured_on or (), experiment.corpora)
        for corpus in experiment.measured_on_of(name) if name in experiment.elsewhere else ():
            if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                yield f"{key}: corpus '{corpus}' holds counts, and a tokenizer made elsewhere is measured on text"


def _built(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.built.items():
        key = f"variants.{name}"
        construction = constructions[variant.construction.method]
        for option, path in files_among(variant.construction).items():
            if not path.is_file():
                yield f"{key}.construction.{option}: no file at '{path}'; name an existing file"
            yield from path_mistakes(f"{key}.construction.{option}", [path], patterns=True)
        if variant.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        corpus = experiment.corpora.get(experiment.corpus_of(name))
        if corpus is not None and corpus.counted and construction.source != "counts":
            yield f"{key}.corpus: '{construction.name}' reads text and this corpus holds counts; name a corpus of text"
        if construction.source == "scores":
            if variant.byte_lm is None:
                known = ", ".join(experiment.byte_lms) or "none; add one under byte_lms"
                yield f"{key}.byte_lm: '{construction.name}' reads a byte language model's scores; name one ({known})"
        elif variant.byte_lm is not None:
            yield f"{key}.byte_lm: '{construction.name}' does not read scores; remove this key"
        if variant.min_count > 1 and construction.source != "counts":
            yield f"{key}.min_count: '{construction.name}' reads no pre-token counts; remove this key"
        if variant.byte_lm is not None:
            yield from unknown_names(f"{key}.byte_lm", "byte language model", [variant.byte_lm], experiment.byte_lms)
        yield from _segmentation(key, variant)


def _elsewhere(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.elsewhere.items():
        key = f"variants.{name}"
        if name in {*experiment.corpora, *experiment.resources, *experiment.suites}:
            yield f"{key}: a corpus, a resource or a suite bears this name, too, and paths are told by it; rename one"
        if variant.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        corpus = experiment.corpora.get(experiment.corpus_of(name))
        if corpus is not None and corpus.counted:
            yield f"{key}.corpus: it is held against its library on text and this corpus holds counts; name one of text"
        yield from mistakes_elsewhere(key, name, variant)


def _segmentation(key: str, variant: Variant) -> Iterator[str]:
    construction = constructions[variant.construction.method]
    try:
        made = construction.own_segmentation().needs
    except TokbenchError as mistake:
        yield f"{key}.construction: {mistake}"
        return
    if variant.segmentation is None:
        return
    cut = variant.segmentation.method
    needs = segmentations[cut].needs
    if construction.continuation and not segmentations[cut].continuation:
        fitting = [method.name for method in segmentations.methods() if method.continuation]
        yield (
            f"{key}.segmentation: '{cut}' ignores the forms of the tokens of '{construction.name}'; "
            f"use {' or '.join(fitting)}"
        )
    elif needs not in (None, made):
        fitting = [method.name for method in segmentations.methods() if method.needs in (None, made)]
        yield (
            f"{key}.segmentation: '{cut}' needs {needs}, which '{construction.name}' does not make; "
            f"use one of {', '.join(fitting)}"
        )


def _sizes(experiment: Experiment) -> Iterator[str]:
    """Sizes that are too small or too large; a mistake in the common list is reported once."""
    alphabets = {
        name: constructions[variant.construction.method].alphabet for name, variant in experiment.built.items()
    }
    common = {name for name, variant in experiment.built.items() if variant.sizes is None}
    if common and not experiment.sizes:
        yield "sizes: this key is missing; add it"
    lists = [("sizes", experiment.sizes, common)] if common else []
    for name, variant in experiment.built.items():
        if variant.sizes is not None:
            lists.append((f"variants.{name}.sizes", variant.sizes, {name}))
        if constructions[variant.construction.method].initial:
            start = constructions[variant.construction.initial]
            if variant.construction.initial_size < start.alphabet:
                yield (
                    f"variants.{name}.construction.initial_size: {variant.construction.initial_size} is smaller than "
                    f"the alphabet of '{start.name}'; ask for {start.alphabet} or more"
                )
        initial = getattr(variant.construction, "initial_size", None)
        for size in variant.sizes or experiment.sizes:
            if initial is not None and size > initial:
                yield f"variants.{name}.construction.initial_size: {initial} is below the size {size}; raise it"
    for key, sizes, names in lists:
        widest = max(sorted(names), key=alphabets.__getitem__)
        for size in sizes:
            if size < alphabets[widest]:
                yield f"{key}: {size} is smaller than the alphabet of '{widest}'; ask for {alphabets[widest]} or more"
