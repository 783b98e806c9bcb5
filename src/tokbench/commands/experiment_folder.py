"""The folder of an experiment, named by itself or by its configuration."""

from pathlib import Path

from tokbench.errors import TokbenchError


def experiment_folder(results: str | None, configfile: str | None) -> str:
    """The folder; that of ``config.yaml`` where nothing is named, as the workflow has it.

    Raises:
        TokbenchError: both are named, or neither and there is no ``config.yaml``.
    """
    if results is not None:
        if configfile is not None:
            raise TokbenchError("RESULTS, --configfile: both name the experiment's folder; leave one out")
        return results
    if configfile is None and not Path("config.yaml").exists():
        raise TokbenchError("RESULTS: name an experiment's folder, such as results/demo, or its --configfile")

    from tokbench.config.load import read_all

    return str(read_all([configfile or "config.yaml"], {}).folder)
