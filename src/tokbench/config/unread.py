"""Files of an experiment's corpora that are not read, or that have the content of another."""

from tokbench.config.experiment import Experiment
from tokbench.corpus.duplicates import equal_files
from tokbench.corpus.sources import FileSource, left_out


def files_left_out(experiment: Experiment) -> list[str]:
    """Return one line for each folder of a corpus out of which files are left."""
    sources = {name: corpus.source for name, corpus in experiment.corpora.items()}
    return [
        f"corpora.{name}.source.path: {line}"
        for name, source in sources.items()
        if isinstance(source, FileSource)
        for line in left_out(source)
    ]


def files_with_equal_content(experiment: Experiment) -> list[str]:
    """Return one line for each set of files of a corpus that have equal content."""
    sources = {name: corpus.source for name, corpus in experiment.corpora.items()}
    return [f"corpora.{name}.source.path: {line}" for name, source in sources.items() for line in equal_files(source)]
