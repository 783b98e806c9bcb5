"""Reading a configuration and rejecting it clearly, before any work is done."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tokbench.config.beside import check_beside
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.errors import TokbenchError
from tokbench.inputs.scalars import reread
from tokbench.inputs.yaml import read_yaml
from tokbench.options import explain


def validate(values: Mapping[str, Any], name: str, mistakes: Iterable[str] = ()) -> Experiment:
    """The experiment that a configuration describes.

    A top-level key that bears the name of a corpus, a resource, a local suite or a variant that was made elsewhere is
    its path, so that a path can be given on the command line (``snakemake --config books=novels.jsonl.gz``). One that
    bears the name of a parallel corpus maps its splits to their paths.

    Args:
        values: the configuration as read.
        name: what messages call it, the file's name.
        mistakes: what reading the file has found already, told together with what is found here.

    Raises:
        TokbenchError: one line a mistake.
    """
    found = list(mistakes)
    values = _with_paths(values)
    try:
        experiment = Experiment.model_validate(values)
    except ValidationError as error:
        found += explain(error, Experiment, name).splitlines()
        found += [f"{name}: {mistake}" for mistake in check_beside(values, error)]
    else:
        found += [f"{name}: {mistake}" for mistake in check(experiment)]
    if found:
        raise TokbenchError("\n".join(dict.fromkeys(found)))
    return experiment


def read(path: Path | str, overrides: Mapping[str, Any] | None = None) -> Experiment:
    """Read and validate a configuration file; ``overrides`` replace its top-level keys.

    Raises:
        TokbenchError: the file is missing, not YAML, or holds a mistake.
    """
    values, mistakes = _read(path)
    return validate({**values, **(overrides or {})}, str(path), mistakes)


def read_all(files: Iterable[Path | str], overrides: Mapping[str, Any]) -> Experiment:
    """The experiment of the files and ``--config`` values that Snakemake was given, each over those before it.

    Snakemake reads them, too, but by rules of its own: of two equal keys it drops the first without a word, it takes
    ``017`` for 15, and lists on its command line for lists of text. What it is told is read again here.

    Args:
        files: the configuration files, the strongest last.
        overrides: values by key, stronger than all files; mappings change a mapping key by key.

    Raises:
        TokbenchError: one line a mistake.
    """
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    name = "configuration"
    for name in map(str, files):
        read, found = _read(name)
        values = over(values, read)
        mistakes += found
    return validate(over(values, _as_given(overrides)), name, mistakes)


def _read(path: Path | str) -> tuple[dict[str, Any], list[str]]:
    """The values of a file, and what is wrong in them."""
    read = read_yaml(path)
    if not isinstance(read.value, dict):
        raise TokbenchError(f"{path}: not a configuration; start from config.yaml")
    return read.value, read.mistakes


def over(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Values changed by others, mappings key by key; neither is changed itself."""
    changed = dict(values)
    for key, other in others.items():
        own = changed.get(key)
        changed[key] = over(own if isinstance(own, Mapping) else {}, other) if isinstance(other, Mapping) else other
    return changed


def _as_given(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Values of Snakemake's command line: words alone are what it took them for, those in lists are read again."""
    try:
        return {key: value if isinstance(value, str) else reread(value) for key, value in overrides.items()}
    except ValueError as error:
        raise TokbenchError(f"--config: {error}") from None


def _with_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the paths of corpora, resources, suites and tokenizers made elsewhere where they belong."""
    sections = ("corpora", "parallel_corpora", "resources", "suites", "variants")
    named = {key: dict(values[key]) for key in sections if isinstance(values.get(key), dict)}
    corpora, parallel, resources, suites, variants = (named.get(key, {}) for key in sections)
    rest = {}
    for key, value in values.items():
        if key in Experiment.model_fields:
            rest[key] = value
        elif isinstance(corpora.get(key), dict) and "source" in corpora[key]:
            corpora[key] = corpora[key] | {"source": _with_path(corpora[key]["source"], value)}
        elif isinstance(parallel.get(key), dict) and isinstance(value, dict):
            parallel[key] = _with_splits(parallel[key], value)
        elif key in resources:
            resources[key] = _with_path(resources[key], value)
        elif key in suites:
            suites[key] = _with_path(suites[key], value, "preset")
        elif isinstance(variants.get(key), dict) and "from" in variants[key]:
            variants[key] = variants[key] | {"path": value}
        else:
            rest[key] = value
    return rest | named


def _with_splits(corpus: dict[str, Any], paths: dict[str, Any]) -> dict[str, Any]:
    """A parallel corpus whose splits have other paths; one that has no type of source is rejected later."""
    changed = dict(corpus)
    tests = dict(corpus["tests"]) if isinstance(corpus.get("tests"), dict) else {}
    for split, path in paths.items():
        splits = tests if split in tests else changed
        own = splits.get(split)
        splits[split] = _with_path(own if isinstance(own, dict | str) else {}, path)
    return changed | ({"tests": tests} if tests else {})


def _with_path(options: Any, path: Any, alone: str = "type") -> Any:
    """Options, or a name alone, with another path; anything else as it is, to be rejected later."""
    options = {alone: options} if isinstance(options, str) else options
    return {**options, "path": path} if isinstance(options, dict) else options
