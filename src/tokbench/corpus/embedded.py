"""The embedded corpus: the English documentation that every CPython carries.

Two parts: the language reference's topics (``pydoc_data.topics``) and the docstrings of the standard library's own
modules, read with ``ast`` and never imported. One document a topic, one a module; about 2 MB together. The text
depends on nothing but the version of CPython.
"""

import ast
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "idlelib", "lib2to3", "pydoc_data", "__pycache__"})
"""Folders of the standard library whose docstrings are not documentation, or not CPython's."""
SHORTEST = 200
"""Bytes; a module with less documentation than that makes no document."""


@cache
def embedded_texts() -> tuple[bytes, ...]:
    """Topics by name, then modules by path: the documents of the embedded corpus."""
    return tuple(_texts())


def _texts() -> Iterator[bytes]:
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield topics[name].encode()
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = (path.relative_to(library) for path in library.rglob("*.py"))
    for module in sorted(modules, key=lambda path: path.as_posix()):
        if not LEFT_OUT.isdisjoint(module.parts):
            continue
        text = "\n\n".join(_docstrings((library / module).read_bytes())).encode()
        if len(text) >= SHORTEST:
            yield text


def _docstrings(source: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented):
            docstring = ast.get_docstring(node)
            if docstring:
                yield docstring
