"""Checks of variants: their files, corpora, options, segmentations and sizes."""

from collections.abc import Iterator
from pathlib import Path

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Variant, external_mistakes, files_among, folder_options
from tokbench.construction import InitialRecipe, constructions
from tokbench.errors import TokbenchError, unknown_names
from tokbench.io.paths import path_mistakes
from tokbench.resource import resource_files
from tokbench.resource.gold_words import GoldOptions, gold_files
from tokbench.segmentation import segmentations


def variant_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in variants, ``key: mistake; remedy``."""
    yield from _measured(experiment)
    yield from _built(experiment)
    yield from _external(experiment)
    yield from _sizes(experiment)


def _measured(experiment: Experiment) -> Iterator[str]:
    """Yield mistakes in ``measured_on``: unknown corpora, and corpora of counts for external tokenizers."""
    yield from unknown_names("measured_on", "corpus", experiment.measured_on, experiment.corpora)
    for name, variant in experiment.variants.items():
        key = f"variants.{name}.measured_on"
        yield from unknown_names(key, "corpus", variant.measured_on or (), experiment.corpora)
        for corpus in experiment.measured_on_of(name) if name in experiment.external else ():
            if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                yield f"{key}: corpus '{corpus}' contains counts, but an external tokenizer is measured on text"
        if experiment.segments_documents(name):
            for corpus in (experiment.corpus_of(name), *experiment.measured_on_of(name)):
                if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                    yield (
                        f"variants.{name}: corpus '{corpus}' contains counts, but tokens of this variant may cross "
                        "pre-tokens; name a corpus of text"
                    )


def _built(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.built.items():
        key = f"variants.{name}"
        # Files that the construction reads.
        construction = constructions[variant.construction.method]
        folders = folder_options(variant.construction)
        for option, path in _files(variant).items():
            if option in folders and not path.exists():
                yield f"{key}.construction.{option}: no file or folder at '{path}'; name an existing one"
            elif option not in folders and not path.is_file():
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
        # Its byte language model, development text and segmentation.
        if variant.byte_lm is not None:
            yield from unknown_names(f"{key}.byte_lm", "byte language model", [variant.byte_lm], experiment.byte_lms)
        if variant.development is not None:
            yield from unknown_names(f"{key}.development", "corpus", [variant.development], experiment.corpora)
            if not construction.languages:
                yield f"{key}.development: '{construction.name}' does not compare languages; remove this key"
            elif getattr(variant.construction, "ratios", None) is not None:
                yield f"{key}.development: excludes ratios of the construction; remove one of them"
        yield from _segmentation(key, variant)
        yield from _leaks(experiment, name, variant)


def _leaks(experiment: Experiment, name: str, variant: Variant) -> Iterator[str]:
    """Yield one line for each resource that measures on gold words which a construction reads."""
    options = variant.construction
    if not isinstance(options, GoldOptions) or options.gold is None:
        return
    try:
        read = {path.resolve() for path in gold_files(options)}
    except TokbenchError as mistake:
        yield f"variants.{name}.construction.gold: {mistake}"
        return
    for key, resource in experiment.resources.items():
        try:
            files = {path.resolve() for _, path in resource_files(resource.type, resource)}
        except TokbenchError:
            continue
        apart = resource.left_out >= options.gold_share and resource.left_out_seed == options.gold_seed
        if not read & files or apart:
            continue
        built_from = f"resources.{key}.left_out: variant '{name}' is built from words of '{options.gold}'"
        if options.gold_share == 1:
            yield f"{built_from}, and from all of them; set its gold_share below 1, and left_out to the same value"
        else:
            yield (
                f"{built_from}; set left_out: {options.gold_share} and left_out_seed: {options.gold_seed}, so that "
                "other words are measured"
            )


def _files(variant: Variant) -> dict[str, Path]:
    """Return the files named by options of the construction and of its initial vocabulary."""
    files = files_among(variant.construction)
    initial = getattr(variant.construction, "initial", None)
    if isinstance(initial, InitialRecipe):
        files |= {f"initial.{option}": path for option, path in files_among(initial.options).items()}
    return files


def _external(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.external.items():
        key = f"variants.{name}"
        if name in {*experiment.corpora, *experiment.resources, *experiment.suites}:
            yield f"{key}: a corpus, a resource or a suite has this name, too, and paths contain it; rename one"
        if variant.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        corpus = experiment.corpora.get(experiment.corpus_of(name))
        if corpus is not None and corpus.counted:
            yield f"{key}.corpus: contains counts, and it is compared with its library on text; name one of text"
        yield from external_mistakes(key, name, variant)


def _segmentation(key: str, variant: Variant) -> Iterator[str]:
    construction = constructions[variant.construction.method]
    try:
        made = construction.own_segmentation(variant.construction).needs
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
    elif unfit := construction.unfit_segmentation(variant.construction, cut):
        yield f"{key}.segmentation: {unfit}"


def _sizes(experiment: Experiment) -> Iterator[str]:
    """Yield sizes that are too small or too large; a mistake in the common list is reported once."""
    alphabets = {
        name: constructions[variant.construction.method].alphabet for name, variant in experiment.built.items()
    }
    # Lists of sizes, each with the variants that use it.
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
    # Every size has room for the largest alphabet.
    for key, sizes, names in lists:
        widest = max(sorted(names), key=alphabets.__getitem__)
        for size in sizes:
            if size < alphabets[widest]:
                yield f"{key}: {size} is smaller than the alphabet of '{widest}'; ask for {alphabets[widest]} or more"
