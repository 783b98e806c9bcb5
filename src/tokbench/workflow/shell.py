"""The command ``tokbench`` in the shells of rules: the right interpreter, and arguments of any length.

Values as canonical text, because the workflow engine compares rule parameters as text.

The workflow as it is installed: Snakefile, rules, environments and profiles, beside the modules that they call.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tokbench.pretokenization import Pretokenization


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


ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
"""Characters to JSON, and ends of lines or none at all to YAML, by which command lines are read."""


def canonical_setting(scheme: Pretokenization) -> str:
    """A pre-tokenization as an argument of the command line: its name, or its setting as canonical JSON."""
    return scheme.setting if isinstance(scheme.setting, str) else canonical(scheme.setting)


def canonical(value: Any) -> str:
    """A value as canonical JSON that YAML reads alike: sorted keys, no spaces."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(ESCAPED)


FILES = Path(__file__).with_name("files")
"""In a checkout this folder holds links to the files at its top; in an installed package the files themselves."""
SNAKEFILE = FILES / "Snakefile"
