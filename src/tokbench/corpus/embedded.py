"""The embedded corpus: the English documentation that every CPython carries.

Two parts: the language reference's topics (``pydoc_data.topics``) and the docstrings of the standard library's own
modules, read with ``ast`` and never imported. One document a topic, one a module; about 2 MB together. The text
depends on nothing but the version of CPython.
"""

import ast
import os
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "idlelib", "lib2to3", "pydoc_data", "__pycache__"})
"""Folders of the standard library whose docstrings are not documentation, or not CPython's."""
SHORTEST = 200
"""Bytes; a module with less documentation than that makes no document."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields that hold statements or what they are in, in the order in which they stand in a source."""
_KINDS: tuple[type[ast.AST], ...] = (ast.Module, *ast.stmt.__subclasses__(), ast.ExceptHandler, ast.match_case)
_BLOCKS_OF = {kind: tuple(block for block in _BLOCKS if block in kind._fields) for kind in _KINDS}
"""Those of each kind of statement: no expression holds a definition."""


@cache
def embedded_texts() -> tuple[bytes, ...]:
    """Topics by name, then modules by path: the documents of the embedded corpus."""
    return tuple(_texts())


def _texts() -> Iterator[bytes]:
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield topics[name].encode()
    library = Path(sysconfig.get_paths()["stdlib"])
    for module in sorted(_modules(library), key=lambda path: path.as_posix()):
        text = "\n\n".join(_docstrings(module.read_bytes())).encode()
        if len(text) >= SHORTEST:
            yield text


def _modules(library: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        yield from (Path(folder, name) for name in files if name.endswith(".py"))


def _docstrings(source: bytes) -> Iterator[str]:
    """Those of outer definitions before those of inner ones."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    level: list[ast.AST] = [tree]
    while level:
        for node in level:
            if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
                yield docstring
        level = [inner for node in level for block in _BLOCKS_OF[type(node)] for inner in getattr(node, block)]
