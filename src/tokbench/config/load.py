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

    A top-level key that bears the name of a corpus is the path of that corpus, so that a path can be given on the
    command line (``snakemake --config books=novels.jsonl.gz``).

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
    corpora = values.get("corpora")
    if not isinstance(corpora, dict):
        return dict(values)
    corpora = dict(corpora)
    rest = {}
    for key, value in values.items():
        corpus = corpora.get(key)
        if key not in Experiment.model_fields and isinstance(corpus, dict) and "source" in corpus:
            source = corpus["source"]
            source = {"type": source} if isinstance(source, str) else source
            corpora[key] = corpus | {"source": {**source, "path": value}} if isinstance(source, dict) else corpus
        else:
            rest[key] = value
    return rest | {"corpora": corpora}
