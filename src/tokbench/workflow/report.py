"""What the rules of the report ask of an experiment."""

import json

from tokbench.config.experiment import Experiment


def as_written(experiment: Experiment) -> str:
    """The whole experiment as the user wrote it, defaults left out and in its own order: the report shows it."""
    written = experiment.model_dump(mode="json", exclude_unset=True)
    return json.dumps(written, separators=(",", ":"), ensure_ascii=False)
