"""Reading a configuration and refusing it clearly, before any work is done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tokbench.config.check import check
from tokbench.config.errors import explain
from tokbench.config.experiment import Experiment
from tokbench.registry import TokbenchError


def validate(values: Mapping[str, Any], name: str) -> Experiment:
    """The experiment that a configuration describes.

    A top-level key that bears the name of a corpus, a resource or a local suite is its path, so that a path can be
    given on the command line (``snakemake --config books=novels.jsonl.gz``).

    Args:
        values: the configuration as read.
        name: what messages call it, the file's name.

    Raises:
        TokbenchError: one line a mistake.
    """
    try:
        experiment = Experiment.model_validate(_with_paths(values))
    except ValidationError as error:
        raise TokbenchError(explain(error, Experiment, name)) from None
    mistakes = check(experiment)
    if mistakes:
        raise TokbenchError("\n".join(f"{name}: {mistake}" for mistake in mistakes))
    return experiment


def read(path: Path | str, overrides: Mapping[str, Any] | None = None) -> Experiment:
    """Read and validate a configuration file; ``overrides`` replace its top-level keys.

    Raises:
        TokbenchError: the file is missing, not YAML, or holds a mistake.
    """
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TokbenchError(f"{path}: cannot be read ({error.strerror}); name an existing configuration file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise TokbenchError(f"{path}: not YAML ({' '.join(str(error).split())}); mend the file") from None
    if not isinstance(values, dict):
        raise TokbenchError(f"{path}: not a configuration; start from config.yaml")
    return validate({**values, **(overrides or {})}, str(path))


def _with_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the paths of corpora, resources and suites where they belong."""
    sections = ("corpora", "resources", "suites")
    named = {key: dict(values[key]) for key in sections if isinstance(values.get(key), dict)}
    corpora, resources, suites = (named.get(key, {}) for key in sections)
    rest = {}
    for key, value in values.items():
        if key in Experiment.model_fields:
            rest[key] = value
        elif isinstance(corpora.get(key), dict) and "source" in corpora[key]:
            corpora[key] = corpora[key] | {"source": _with_path(corpora[key]["source"], value)}
        elif key in resources:
            resources[key] = _with_path(resources[key], value)
        elif key in suites:
            suites[key] = _with_path(suites[key], value, "preset")
        else:
            rest[key] = value
    return rest | named


def _with_path(options: Any, path: Any, alone: str = "type") -> Any:
    """Options, or a name alone, with another path; anything else as it is, to be refused later."""
    options = {alone: options} if isinstance(options, str) else options
    return {**options, "path": path} if isinstance(options, dict) else options
