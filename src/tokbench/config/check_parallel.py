"""Mistakes in parallel corpora that no single section can see."""

from collections.abc import Iterator

from tokbench.config.check_variants import unknown_names
from tokbench.config.experiment import Experiment
from tokbench.corpus.sources import ParallelSource
from tokbench.errors import TokbenchError
from tokbench.inputs.paths import path_mistakes


def parallel_mistakes(experiment: Experiment) -> Iterator[str]:
    """One line a mistake, ``key: what is wrong; the remedy``."""
    yield from _translations(experiment)
    for name, parallel in experiment.parallel_corpora.items():
        for split, source in parallel.sources().items():
            key = f"parallel_corpora.{name}.{split if split in ('train', 'dev') else f'tests.{split}'}.path"
            try:
                yield from path_mistakes(key, source.files(), patterns=True)
            except TokbenchError as error:
                yield f"{key}: {error}"
    for name, corpus in experiment.corpora.items():
        if not isinstance(corpus.source, ParallelSource):
            continue
        key = f"corpora.{name}.source"
        wanted = corpus.source.corpus
        yield from unknown_names(f"{key}.corpus", "parallel corpus", [wanted], experiment.parallel_corpora)
        if wanted in experiment.parallel_corpora:
            there = experiment.parallel_corpora[wanted].languages
            yield from unknown_names(f"{key}.languages", "language of it", corpus.source.languages or [], there)


def _translations(experiment: Experiment) -> Iterator[str]:
    scored: dict[tuple[str, ...], tuple[str, tuple[str, str]]] = {}
    for index, run in enumerate(experiment.translations):
        key = f"translations.{index}"
        yield from unknown_names(f"{key}.corpora", "parallel corpus", run.corpora, experiment.parallel_corpora)
        yield from unknown_names(f"{key}.models", "translation model", run.models, experiment.translation_models)
        for name in filter(experiment.parallel_corpora.__contains__, run.corpora):
            if {run.source, run.target} != set(experiment.parallel_corpora[name].languages):
                there = " and ".join(experiment.parallel_corpora[name].languages)
                yield f"{key}: '{name}' has {there}; name one as source and the other as target"
        for variant in dict.fromkeys(one for pair in run.pairs() for one in pair):
            yield from unknown_names(f"{key}.tokenizers", "variant", [variant], experiment.variants)
        for pair in run.pairs():
            if not experiment.variants.keys() >= set(pair):
                continue
            built = [variant for variant in pair if variant in experiment.built]
            for size in experiment.sizes_between(run, *pair):
                lacking = [variant for variant in built if size not in experiment.sizes_of(variant)]
                if lacking:
                    yield f"{key}.sizes: '{lacking[0]}' is not built at {size}; choose sizes that both sides have"
        if run.comet is not None:
            yield from path_mistakes(f"{key}.comet", [run.comet])
        way = (run.bleu_words, str(run.comet))
        for name in run.corpora:
            first, other = scored.setdefault((name, run.source, run.target), (key, way))
            if other != way:
                yield f"{key}: bleu_words and comet differ from those of {first} for '{name}'; say the same in both"
