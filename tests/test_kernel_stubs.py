"""The stubs of the kernels say what the compiled modules have: names, parameters and defaults."""

import ast
import importlib
import inspect
import re
from enum import EnumType
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tokbench import kernels

FOLDER = Path(kernels.__path__[0])
MODULES = sorted(path.stem for path in FOLDER.glob("*.pyx"))
Parameters = list[tuple[str, str | None]]
"""Names in order, each with its default as source, or None; after ``*`` those that are given by name."""


def told(module: str) -> list[ast.stmt]:
    path = FOLDER / f"{module}.pyi"
    return ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else []


def parameters(arguments: ast.arguments) -> Parameters:
    """Of a stub."""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + [*arguments.defaults]
    found = [(each.arg, default) for each, default in zip(arguments.args, defaults, strict=True)]
    if arguments.kwonlyargs:
        found.append(("*", None))
        found += [
            (each.arg, default) for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]
    return [(name, default and ast.unparse(default)) for name, default in found]


def signature(function: Any) -> Parameters:
    """Of what is compiled."""
    found: Parameters = []
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY and ("*", None) not in found:
            found.append(("*", None))
        found.append((each.name, None if each.default is each.empty else spelt(each.default)))
    return found


def spelt(default: Any) -> str:
    return str(default) if isinstance(type(default), EnumType) else repr(default)


def constructor(module: str, name: str) -> Parameters:
    """Of a class, from its source: a compiled one does not say."""
    source = (FOLDER / f"{module}.pyx").read_text(encoding="utf-8")
    body = re.search(rf"^cdef class {name}\b.*?(?=^\S|\Z)", source, re.MULTILINE | re.DOTALL)
    head = re.search(r"def __c?init__\((.*?)\):\n", body[0], re.DOTALL) if body else None
    if head is None:
        return []
    types = re.compile(r"\b(?:const )?\w+(?:\[[^]]*\])? (?=\w+\s*(?:[,=]|not None|$))")
    plain = types.sub("", re.sub(r" not None", "", head[1]))
    function = ast.parse(f"def made({plain}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return parameters(function.args)


def public(module: ModuleType) -> set[str]:
    """What a compiled module has of its own; classes without methods are its inner state."""
    found = set()
    for name, value in vars(module).items():
        inner = isinstance(value, type) and not issubclass(value, int) and not own(value)
        if name.startswith("_") or isinstance(value, ModuleType) or inner:
            continue
        if getattr(value, "__module__", module.__name__) == module.__name__ and not name.startswith("__"):
            found.add(name)
    return found


def own(kernel: type) -> set[str]:
    """The methods and attributes of a class, inherited ones left out."""
    return {
        name
        for name in vars(kernel)
        if not name.startswith("_")
        or name == "__len__"
        or (name == "__init__" and kernel.__init__ is not object.__init__)
    }


@pytest.mark.parametrize("module", MODULES)
def test_stub(module: str) -> None:
    compiled = importlib.import_module(f"tokbench.kernels.{module}")
    body = told(module)
    constants = {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    assert {*constants, *functions, *classes} == public(compiled)
    for name, function in functions.items():
        assert parameters(function.args) == signature(getattr(compiled, name)), name
    for name, node in classes.items():
        kernel = getattr(compiled, name)
        if issubclass(kernel, int):
            assigned = [each for each in node.body if isinstance(each, ast.Assign)]
            assert {ast.unparse(each.targets[0]): ast.literal_eval(each.value) for each in assigned} == {
                member.name: member.value for member in kernel
            }
            continue
        bases = [base.__name__ for base in kernel.__bases__ if base is not object]
        assert [ast.unparse(base) for base in node.bases] == bases
        methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        assert methods.keys() - {"__init__"} == own(kernel) - {"__init__"}
        for method, defined in methods.items():
            if method == "__init__":
                assert parameters(defined.args) == constructor(module, name), name
            elif defined.decorator_list:
                assert inspect.isgetsetdescriptor(vars(kernel)[method]), (name, method)
            elif not method.startswith("__"):
                assert parameters(defined.args) == signature(vars(kernel)[method]), (name, method)
