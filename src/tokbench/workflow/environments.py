"""Python environments of jobs: the one that runs the workflow, and the one of language models.

llm-foundry requires old versions of other libraries, so language models may have an environment of their own. Both have
the same version of Tokbench. Without it, all jobs run in the environment of the workflow, which then needs all
libraries.
"""

import os
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path

from tokbench.config.experiment import Experiment
from tokbench.errors import TokbenchError
from tokbench.io.provenance import versions_of
from tokbench.stage import Stage, stages

VARIABLE = "TOKBENCH_MODELS"
"""Environment variable: folder of the virtual environment of language models."""
FOLDER = ".venv-models"
"""Name of that folder next to the environment of the workflow, unless the variable names another."""


def environment_of_language_models() -> Path | None:
    """Return the folder of the environment of language models; None if there is none.

    Raises:
        TokbenchError: the environment variable names a folder without a Python.
    """
    if named := os.environ.get(VARIABLE):
        if not _python(Path(named)).is_file():
            raise TokbenchError(f"{VARIABLE}: {named} has no bin/python; name the folder of a virtual environment")
        return Path(named).absolute()
    folder = Path(sys.prefix).parent / FOLDER
    return folder if _python(folder).is_file() else None


def python_of_language_models() -> str:
    """Return the Python that runs the commands of language models."""
    environment = environment_of_language_models()
    return sys.executable if environment is None else str(_python(environment))


def commands_of_language_models(experiment: Experiment) -> list[str]:
    """Return the commands of an experiment that run in the environment of language models; they are named as stages."""
    return sorted(stage.name for stage in stages if stage.needs_language_models(experiment))


def versions_for(stage: Stage, experiment: Experiment) -> dict[str, str]:
    """Return the versions of a stage's libraries in the environment of its jobs, without those that it lacks."""
    libraries = stage.libraries_of(experiment)
    environment = environment_of_language_models() if stage.needs_language_models(experiment) else None
    return versions_of(libraries) if environment is None else _versions_in(environment, libraries)


def _versions_in(environment: Path, packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that a Python of another environment imports."""
    shared = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = [*shared, *map(str, sorted(environment.glob("lib/python*/site-packages")))]
    found = ((name, next(iter(Distribution.discover(name=name, path=folders)), None)) for name in packages)
    return {name: package.version for name, package in found if package is not None}


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"
