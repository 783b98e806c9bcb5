"""Imports of a command, those included that its functions make when they are called."""

import ast
import importlib
import inspect
from contextlib import suppress


def import_all(name: str) -> None:
    """Import a module, and all that any statement in it imports; libraries of language models only where they are."""
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            with suppress(ModuleNotFoundError):
                exec(compile(ast.Module([node], []), name, "exec"), vars(module).copy())
