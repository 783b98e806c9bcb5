"""What is imported: all that a command may need, or what a piece of code needs, in a process of its own."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

AFTER = """
import importlib, os, sys
for library in sys.argv[1].split():
    importlib.import_module(library)
for code in sys.argv[2:]:
    child = os.fork()
    if not child:
        exec(code)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, code
"""
"""Imports libraries, and runs each argument after the first in a process of its own that has them."""


def each_after(libraries: str, codes: Sequence[str]) -> list[str]:
    """The line that each piece of code prints where nothing but some libraries, those that take longest, was
    imported."""
    command = [sys.executable, "-W", "ignore", "-c", AFTER, libraries, *codes]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    printed = ended.stdout.splitlines()
    assert len(printed) == len(codes), ended.stderr
    return printed


def import_all(name: str) -> None:
    """Import a module, and all that any statement in it imports; libraries of language models only where they are."""
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            with suppress(ModuleNotFoundError):
                exec(compile(ast.Module([node], []), name, "exec"), vars(module).copy())
