"""The embedded corpus: English documentation that is part of every CPython, about 2 MB.

It has the topics of the language reference (``pydoc_data.topics``), and the docstrings of the standard library's
modules. The modules are parsed with ``ast`` and never imported. Each topic and each module is one document. The text
depends only on the version of CPython.
"""

import ast
import os
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "idlelib", "lib2to3", "pydoc_data", "__pycache__"})
"""Folders of the standard library that are excluded: their docstrings are not documentation, or not CPython's."""
SHORTEST = 200
"""Minimum bytes of documentation; a module with less is skipped."""
_NODES_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""AST fields that contain statements, in source order."""
_KINDS: tuple[type[ast.AST], ...] = (ast.Module, *ast.stmt.__subclasses__(), ast.ExceptHandler, ast.match_case)
_BLOCKS_OF = {kind: tuple(block for block in _BLOCKS if block in kind._fields) for kind in _KINDS}
"""Such fields by type of statement. Expressions need not be searched, as they contain no definitions."""


@cache
def embedded_texts() -> tuple[bytes, ...]:
    """Return the documents of the embedded corpus: topics by name, then modules by path."""
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
    """Yield docstrings level by level, outer definitions before inner ones."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    level: list[ast.AST] = [tree]
    while level:
        for node in level:
            if isinstance(node, _NODES_WITH_DOCSTRINGS) and (docstring := ast.get_docstring(node)):
                yield docstring
        level = [inner for node in level for block in _BLOCKS_OF[type(node)] for inner in getattr(node, block)]
