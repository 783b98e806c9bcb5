"""Files in the folders of an experiment's corpora that are not read."""

from tokbench.config.experiment import Experiment
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
