"""Mistakes in parallel corpora that no single section can see."""

from collections.abc import Iterator

from tokbench.config.check_variants import unknown_names
from tokbench.config.experiment import Experiment
from tokbench.corpus.sources import ParallelSource
from tokbench.errors import TokbenchError
from tokbench.inputs.paths import path_mistakes


def parallel_mistakes(experiment: Experiment) -> Iterator[str]:
    """One line a mistake, ``key: what is wrong; the remedy``."""
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
