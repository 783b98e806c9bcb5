"""The command ``tokbench`` in the shells of rules: the right interpreter, and arguments of any length."""

import shlex
import sys
from typing import Any


def shell_prefix(*, apart: bool) -> str:
    """What goes before every rule's shell command: strictness, and ``tokbench`` as a function of the shell.

    It calls the interpreter that runs the workflow, or what is installed in the rule's own environment. Arguments
    pass through a file that the shell itself writes, because an operating system bounds those of a process.

    Args:
        apart: whether rules run in environments of their own: conda's, or a container.

    Returns:
        Text in which braces are doubled: the workflow engine fills in what stands between single ones.
    """
    called = "command tokbench" if apart else f"{shlex.quote(sys.executable)} -P -m tokbench"
    function = f"""tokbench() {{ {called} @<(printf '%s\\0' "$@"); }};"""
    return f"set -euo pipefail; {function} ".replace("{", "{{").replace("}", "}}")


def has_environments(workflow: Any) -> bool:
    """Return whether Snakemake runs the rules in environments of their own: conda's, or a container."""
    return any(method.name in ("CONDA", "APPTAINER") for method in workflow.deployment_settings.deployment_method)


def flags(wildcards: Any, input: Any) -> list[str]:
    """Every named input of a rule as a flag of the command line, ``--name path``, once a path.

    A corpus is left out: a rule names the shards of the split that it reads.
    """
    named = [(name, [paths] if isinstance(paths, str) else paths) for name, paths in input.items() if name != "corpus"]
    return [word for name, paths in named for path in paths for word in (f"--{name.replace('_', '-')}", path)]
