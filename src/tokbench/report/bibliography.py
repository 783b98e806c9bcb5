"""References of an experiment: publications of its methods, gold data and corpora, and software of its models."""

import re
from collections.abc import Iterator

from tokbench.config.experiment import Experiment
from tokbench.construction import constructions
from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.sources import EmbeddedSource, FileSource, HubDataset, HubSource, type_of
from tokbench.metric import Sight, families_of
from tokbench.pretokenization import Setting, pretokenization_of, schemes
from tokbench.references import format_entry
from tokbench.registry import Method
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.stage import stages

EMBEDDED = ("cpython_documentation",)
"""Source of the embedded corpus. The text of a user's files has none; a data set of the hub gets a generated entry."""
BYTE_NGRAMS = ("witten1991",)
TEMPERATURE = ("devlin2019", "conneau2020")
"""Sources of mixtures whose shares are powers of sizes."""


def publication_keys(experiment: Experiment) -> list[str]:
    """Return keys of publications, or generated entries, without duplicates, in alphabetical order."""
    return sorted(set(_keys(experiment)))


def _keys(experiment: Experiment) -> Iterator[str]:
    # Sources of text.
    for source in (source for corpus in experiment.corpora.values() for source in corpus.named_sources.values()):
        if isinstance(source, EmbeddedSource):
            yield from EMBEDDED
        elif isinstance(source, FileSource) and (read_by := corpus_formats.find(type_of(source))):
            yield from _keys_of_method(read_by)
        if isinstance(source, HubSource):
            yield _key_of_hub(source)
    for corpus in experiment.corpora.values():
        if corpus.temperature is not None:
            yield from TEMPERATURE
    for parallel in experiment.parallel_corpora.values():
        yield from (_key_of_hub(pairs.source) for pairs in parallel.on_hub())
    # The phases of each tokenizer that is built.
    for name, variant in experiment.built.items():
        construction = constructions[variant.construction.method]
        yield from _keys_of_scheme(variant.pretokenization)
        yield from _keys_of_method(construction)
        if construction.initial:
            yield from _keys_of_method(constructions[variant.construction.initial])
        yield from _keys_of_method(segmentations[experiment.segmentation_of(name)])
        if variant.byte_lm is not None and experiment.byte_lms[variant.byte_lm].kind == "ngram":
            yield from BYTE_NGRAMS
    # Metrics, by the inputs that the experiment has.
    seen: list[Sight] = ["text", "languages"]
    for resource in experiment.resources.values():
        kind = resource_types[resource.type]
        yield from _keys_of_method(kind)
        seen.append(kind.gold)
    if experiment.runs:
        seen.append("embeddings")
    for family in families_of(*dict.fromkeys(seen)):
        yield from _keys_of_method(family)
    # Stages with results.
    for stage in stages:
        if any(result.files(experiment) for result in stage.results):
            yield from stage.cites


def _keys_of_method(method: Method) -> tuple[str, ...]:
    return method.cites or ()


def _keys_of_scheme(setting: Setting) -> Iterator[str]:
    """Yield the publications of a pre-tokenizer and of the steps of a sequence."""
    scheme = pretokenization_of(setting)
    yield from _keys_of_method(schemes[scheme.method.name])
    for step in getattr(scheme.options, "steps", ()):
        yield from _keys_of_scheme(step)


def _key_of_hub(source: HubDataset) -> str:
    """Return an entry for a data set at its commit."""
    key = re.sub(r"[^A-Za-z0-9]+", "_", source.dataset)
    facts = {
        "type": "misc",
        "author": [f"{{{source.dataset.partition('/')[0]}}}"],
        "title": source.dataset,
        "note": f"Data set of the Hugging Face hub, commit {source.revision}",
        "url": f"https://huggingface.co/datasets/{source.dataset}/tree/{source.revision}",
    }
    return format_entry(key, facts)
