"""Loading and validation of configuration files.

Notes report valid but odd configurations: equal recipes, unused recipes, files that are left out, and files with equal
content.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.config.missing_paths import MissingPath
from tokbench.corpus.duplicates import equal_files
from tokbench.corpus.source_files import left_out
from tokbench.corpus.sources import FileSource
from tokbench.errors import TokbenchError, listed
from tokbench.io.json import read_result
from tokbench.io.yaml import parse_words, read_yaml
from tokbench.options import explain, validated
from tokbench.tokenizer.libraries.python import SOURCE, source_of

SECTIONS = ("corpora", "parallel_corpora", "resources", "suites", "variants")
"""Sections whose entries may get a path by a top-level key of their name."""


def validate(values: Mapping[str, Any], name: str) -> Experiment:
    """Validate a configuration and return its experiment.

    A top-level key that equals the name of a corpus, a resource, a local suite or an external variant sets its path. So
    a path can be given on the command line (``snakemake --config books=novels.jsonl.gz``). A key that equals the name
    of a parallel corpus maps its splits to their paths, that of a mixture its sources.

    Args:
        values: the configuration as read.
        name: name of the configuration in messages (the file's name).

    Raises:
        TokbenchError: one line for each wrong value; if there is none, one line for each contradiction.
    """
    experiment, mistakes = _checked(values, name)
    _reject(mistakes, name)
    return experiment


def validate_but_paths(
    files: Sequence[Path | str], overrides: Mapping[str, Any]
) -> tuple[Experiment, list[MissingPath]]:
    """Validate configuration files whose paths may be on the command line of a later run.

    Args:
        files: the files; later files override earlier ones, as in :func:`read_all`.
        overrides: values by top-level key, as of :func:`read`.

    Returns:
        The experiment, and the mistakes of entries that have no path.

    Raises:
        TokbenchError: as of :func:`read`, unless missing paths are the only mistakes.
    """
    values, name = _merged(files)
    experiment, mistakes = _checked({**values, **overrides}, name)
    missing = [mistake for mistake in mistakes if isinstance(mistake, MissingPath)]
    if len(missing) < len(mistakes):
        _reject(mistakes, name)
    return experiment, missing


def _checked(values: Mapping[str, Any], name: str) -> tuple[Experiment, list[str]]:
    """Return the experiment of a configuration, and its contradictions."""
    try:
        experiment = Experiment.model_validate(_with_paths(values))
    except ValidationError as error:
        raise TokbenchError(_with_names(explain(error, Experiment, name), values, name)) from None
    return experiment, check(experiment)


def _reject(mistakes: Sequence[str], name: str) -> None:
    if mistakes:
        raise TokbenchError("\n".join(dict.fromkeys(f"{name}: {mistake}" for mistake in mistakes)))


def _with_names(lines: str, values: Mapping[str, Any], name: str) -> str:
    """Return error lines in which an unknown top-level key lists the names that accept a path there."""
    named = {section: values[section] for section in SECTIONS if isinstance(values.get(section), dict)}
    variants = named.pop("variants", {})
    imported = [key for key, variant in variants.items() if isinstance(variant, dict) and "from" in variant]
    names = sorted({*imported, *(key for section in named.values() for key in section)})
    known = f"neither a key nor the name of a corpus, resource, suite or variant ({listed(names)}); correct it"
    start = {f"{name}: {key}: unknown key. Known here: ": f"{name}: {key}: {known}" for key in values}
    return "\n".join(next((start[at] for at in start if line.startswith(at)), line) for line in lines.split("\n"))


def read(path: Path | str, overrides: Mapping[str, Any] | None = None) -> Experiment:
    """Read and validate a configuration file; ``overrides`` replace its top-level keys.

    Raises:
            TokbenchError: the file is missing, is not YAML, or has a mistake.
    """
    return validate({**_read(path), **(overrides or {})}, str(path))


def read_all(files: Iterable[Path | str], overrides: Mapping[str, Any]) -> Experiment:
    """Read and merge the configuration files and ``--config`` values passed to Snakemake, the last one first in rank.

    Snakemake parses them differently: it silently drops the first of two equal keys, reads ``017`` as 15, and reads
    lists on its command line as lists of text. So they are parsed here again.

    Args:
        files: the configuration files; later files override earlier ones.
        overrides: values by key, which override all files; mappings are merged key by key.

    Raises:
        TokbenchError: one line for each wrong value.
    """
    values, name = _merged(files)
    return validate(merge_values(values, _as_given(overrides)), name)


def _merged(files: Iterable[Path | str]) -> tuple[dict[str, Any], str]:
    """Return the values of configuration files, of which later ones override earlier ones, and the last file's name."""
    values: dict[str, Any] = {}
    name = "configuration"
    for name in map(str, files):
        values = merge_values(values, _read(name))
    return values, name


def _read(path: Path | str) -> dict[str, Any]:
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise TokbenchError(f"{path}: not a configuration; start from config.yaml")
    return _with_modules(values, Path(path).parent)


def _with_modules(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the values in which each ``MODULE:FUNCTION`` names its file in the configuration's folder."""
    variants = values.get("variants")
    if not isinstance(variants, dict):
        return values
    sources = {
        name: recipe for name, recipe in variants.items() if isinstance(recipe, dict) and recipe.get("from") == "python"
    }
    here = os.path.relpath(folder) if folder.resolve().is_relative_to(Path.cwd()) else str(folder)
    changed = {}
    for name, variant in sources.items():
        if isinstance(path := variant.get("path"), str) and SOURCE.fullmatch(path):
            file, function = source_of(path, here)
            changed[name] = variant | {"path": f"{file}:{function}"}
    return values | {"variants": variants | changed} if changed else values


def merge_values(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` updated by ``others``, mappings key by key; neither argument is modified."""
    changed = dict(values)
    for key, other in others.items():
        own = changed.get(key)
        changed[key] = (
            merge_values(own if isinstance(own, Mapping) else {}, other) if isinstance(other, Mapping) else other
        )
    return changed


def _as_given(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Parse values of Snakemake's command line: it has parsed single words, but not the words of lists."""
    return {key: value if isinstance(value, str) else parse_words(value) for key, value in overrides.items()}


def _with_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with top-level paths moved into their corpora, resources, suites and external tokenizers."""
    named = {key: dict(values[key]) for key in SECTIONS if isinstance(values.get(key), dict)}
    corpora, parallel, resources, suites, variants = (named.get(key, {}) for key in SECTIONS)
    rest = {}
    for key, value in values.items():
        if key in Experiment.model_fields:
            rest[key] = value
        elif isinstance(corpora.get(key), dict) and "source" in corpora[key]:
            corpora[key] = corpora[key] | {"source": _with_path(corpora[key]["source"], value)}
        elif isinstance(corpora.get(key), dict) and isinstance(value, dict) and "sources" in corpora[key]:
            corpora[key] = corpora[key] | {"sources": _with_domains(corpora[key]["sources"], value)}
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


def _with_domains(sources: Any, paths: dict[str, Any]) -> Any:
    """Return the sources of a mixture with other paths; those that it lacks are rejected later."""
    if not isinstance(sources, dict):
        return sources
    changed = dict(sources)
    for domain, path in paths.items():
        own = changed.get(domain)
        own = own if isinstance(own, dict) else {}
        changed[domain] = own | {"source": _with_path(own.get("source", {}), path)}
    return changed


def _with_splits(corpus: dict[str, Any], paths: dict[str, Any]) -> dict[str, Any]:
    """Return a parallel corpus with other paths of its splits; one without a type of source is rejected later."""
    changed = dict(corpus)
    tests = dict(corpus["tests"]) if isinstance(corpus.get("tests"), dict) else {}
    for split, path in paths.items():
        splits = tests if split in tests else changed
        own = splits.get(split)
        splits[split] = _with_path(own if isinstance(own, dict | str) else {}, path)
    return changed | ({"tests": tests} if tests else {})


def _with_path(options: Any, path: Any, alone: str = "type") -> Any:
    """Return options (or a name) with another path; other values are returned unchanged and rejected later."""
    options = {alone: options} if isinstance(options, str) else options
    return {**options, "path": path} if isinstance(options, dict) else options


def notes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each recipe that equals an earlier one or is not used, ``key: note``."""
    runs, translations = experiment.runs, experiment.translations
    built = experiment.built.values()
    read = (variant.development for variant in built if variant.development is not None)
    measured = {
        *experiment.measured_corpora(),
        *(run.corpus for run in runs),
        experiment.metrics.vocabulary.words_of,
        *read,
    }
    sections: list[tuple[str, Mapping[str, Any], Iterable[str | None]]] = [
        ("corpora", experiment.corpora, measured),
        ("byte_lms", experiment.byte_lms, [variant.byte_lm for variant in built]),
        ("variants", experiment.variants, experiment.variants),
        ("models", experiment.models, [name for run in runs for name in run.models]),
        ("suites", experiment.suites, [name for run in runs for name in run.suites]),
        ("translation_models", experiment.translation_models, [name for run in translations for name in run.models]),
    ]
    for section, entries, names in sections:
        used = set(names)
        yield from _equal(section, entries)
        yield from (f"{section}.{name}: nothing uses it" for name in entries if name not in used)


def _equal(section: str, entries: Mapping[str, Any]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, entry in entries.items():
        other = first.setdefault(entry.model_dump_json(), name)
        if other != name:
            yield f"{section}.{name}: equals {section}.{other}"


def files_left_out(experiment: Experiment) -> list[str]:
    """Return one line for each corpus folder in which files are skipped, and for each limit that reads the beginning of
    a source."""
    lines = []
    for name, corpus in experiment.corpora.items():
        for place, source in corpus.keyed_sources.items():
            if isinstance(source, FileSource):
                lines += [f"corpora.{name}.{place}.path: {line}" for line in left_out(source)]
            for key in ("max_documents", "max_bytes_per_language"):
                if getattr(source, key) is not None:
                    lines.append(
                        f"corpora.{name}.{place}.{key}: the beginning of the source is read, which is no sample of it; "
                        "'sample' and 'bytes' of the corpus draw from all of it"
                    )
    return lines


def files_with_equal_content(experiment: Experiment) -> list[str]:
    """Return one line for each set of files of a corpus that have equal content."""
    return [
        f"corpora.{name}.{'sources' if corpus.sources else 'source.path'}: {line}"
        for name, corpus in experiment.corpora.items()
        for line in equal_files(*corpus.named_sources.values())
    ]


def read_settings(path: Path | str, *keys: str) -> dict[str, Any]:
    """Read what the workflow wrote of an experiment for one of its last stages.

    Args:
        path: the file ``experiment/STAGE.json`` in the folder of an experiment.
        keys: keys that the stage needs.

    Raises:
        TokbenchError: the file is missing or damaged, or it is not of this stage.
    """
    settings = read_result(path, "run the workflow again")
    if lacking := [key for key in keys if key not in settings]:
        raise TokbenchError(f"{path}: no key {', '.join(lacking)}; name the file of this stage, experiment/STAGE.json")
    return settings


def read_experiment_file(path: Path | str) -> tuple[Experiment, dict[str, Any]]:
    """Return the experiment, and its configuration as written, that the workflow wrote for the report.

    Raises:
        TokbenchError: the file is missing, damaged, or does not fit this version.
    """
    configuration = read_settings(path, "configuration")["configuration"]
    return validated(configuration, Experiment, str(path)), configuration
