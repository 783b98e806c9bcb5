"""What stands below the attributes of a class, found in its source."""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise


def meanings(described: type) -> dict[str, str]:
    """The text below each annotated attribute of a class and of those that it inherits from, by the attribute's name.

    A class without source, such as one made while the program runs, adds none.
    """
    found: dict[str, str] = {}
    for ancestor in reversed(described.__mro__):
        module = sys.modules[ancestor.__module__]
        if getattr(module, "__file__", None):
            found |= _of_module(ancestor.__module__).get(ancestor.__qualname__, {})
    return found


@cache
def _of_module(name: str) -> dict[str, dict[str, str]]:
    """Those of every class of a module, by the class's qualified name."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except OSError:
        return {}
    return dict(_of_classes(tree, ""))


def _of_classes(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    for statement in scope.body:
        if isinstance(statement, ast.ClassDef):
            yield prefix + statement.name, _of_attributes(statement)
            yield from _of_classes(statement, f"{prefix}{statement.name}.")


def _of_attributes(described: ast.ClassDef) -> dict[str, str]:
    return {
        attribute.target.id: inspect.cleandoc(below.value.value)
        for attribute, below in pairwise(described.body)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
