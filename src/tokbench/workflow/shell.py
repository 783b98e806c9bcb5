"""The ``tokbench`` command in shell rules, canonical text of parameters, and the paths of the installed workflow.

Parameters are canonical text because the workflow engine compares them as text.
"""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.options import canonical
from tokbench.pretokenization import Pretokenization
from tokbench.tokenizer.libraries.python import TRUSTED, entry, source_of
from tokbench.workflow.environments import python_of_language_models


def shell_prefix(*, separate: bool, models: Sequence[str] = (), trusted: Sequence[str] = ()) -> str:
    """Return the prefix of every rule's shell command: strict mode, and ``tokbench`` as a shell function.

    The function calls the interpreter that runs the workflow, that of the language models, or the program in the rule's
    environment. Arguments pass through a file that the shell writes, because an operating system limits the length of
    command lines.

    Args:
        separate: whether rules run in their own environments (conda or a container).
        models: commands that run in the environment of language models.
        trusted: functions of Python files that jobs may run, since the configuration names them.

    Returns:
        Text with doubled braces, since the workflow engine replaces text in single braces.
    """
    called, choice = "command tokbench", ""
    if not separate:
        choice = f"local python={shlex.quote(sys.executable)}; "
        if models and (other := python_of_language_models()) != sys.executable:
            choice += f"case $1 in {'|'.join(models)}) python={shlex.quote(other)};; esac; "
        called = '"$python" -P -m tokbench'
    function = f"""tokbench() {{ {choice}{called} @<(printf '%s\\0' "$@"); }};"""
    export = f"export {TRUSTED}={shlex.quote(os.pathsep.join(trusted))}; " if trusted else ""
    return f"set -euo pipefail; {export}{function} ".replace("{", "{{").replace("}", "}}")


def trusted_functions(experiment: Experiment) -> list[str]:
    """Return the Python functions that an experiment names as tokenizers, as entries of ``TOKBENCH_PYTHON``."""
    paths = (str(variant.path) for variant in experiment.external.values() if variant.form == "python")
    return sorted({entry(*source_of(path)) for path in paths})


def has_environments(workflow: Any) -> bool:
    """Return whether Snakemake runs the rules in their own environments (conda or a container)."""
    return any(method.name in ("CONDA", "APPTAINER") for method in workflow.deployment_settings.deployment_method)


def flags(wildcards: Any, input: Any) -> list[str]:
    """Return every named input of a rule as a command-line flag, ``--name path``, once per path.

    The input ``corpus`` is skipped: rules name the shards of the split that they read.
    """
    items = [(name, [paths] if isinstance(paths, str) else paths) for name, paths in input.items() if name != "corpus"]
    return [word for name, paths in items for path in paths for word in (f"--{name.replace('_', '-')}", path)]


def checkpoints_in(workflow: Any, folder: str, pattern: str) -> Callable[[Any, Any], list[str]]:
    """Return the parameter function of a training's folder of checkpoints, relative to that of all checkpoints.

    If results are in a storage, an option with the place of its copies follows. The engine stores an output only after
    its job has succeeded, so the training copies its checkpoints.

    Args:
        workflow: the workflow engine's workflow.
        folder: the experiment's folder.
        pattern: path of the training's folder, with wildcards in braces.
    """

    def checkpoints(wildcards: Any, input: Any) -> list[str]:
        path = pattern.format(**dict(wildcards.items()))
        settings = workflow.storage_settings
        if settings.default_storage_provider is None:
            return [f"{folder}/checkpoints/{path}"]
        kept = f"{(settings.default_storage_prefix or '.').rstrip('/')}/{folder}/kept_checkpoints/{path}"
        return [f"{folder}/checkpoints/{path}", "--keep-checkpoints", kept]

    return checkpoints


def canonical_setting(scheme: Pretokenization) -> str:
    """Return a pre-tokenization as a command-line argument: its name, or its setting as canonical JSON."""
    return scheme.setting if isinstance(scheme.setting, str) else canonical(scheme.setting)


FILES = Path(__file__).with_name("files")
"""Folder with the workflow's files; in a checkout it contains links to those at the top."""
SNAKEFILE = FILES / "Snakefile"
COMMON = "common.smk"
"""File with the definitions of all rules; it is included before the others."""


def rule_files() -> list[str]:
    """Return the names of the files of rules, in alphabetical order; they do not use each other's objects."""
    return sorted(path.name for path in (FILES / "rules").glob("*.smk") if path.name != COMMON)
