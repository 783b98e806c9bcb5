"""What a fingerprint takes of one Python source: its code without documentation and layout, its imports, its texts.

Parsing all sources takes longer than the rest of a plan, and most stand as they stood. What was found in a source is
therefore kept in a file, under a hash of its bytes: an answer depends on nothing else.
"""

import ast
import hashlib
import json
import sys
from pathlib import Path
from typing import NamedTuple

from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError

KEPT = Path(".snakemake", "tokbench", "syntax.json")
"""In the workflow engine's own folder of the directory in which it runs."""
GATHERING = "tables_of"
"""The function by which all modules with tables of some commands are imported, see :mod:`tokbench.tidy.collection`."""
LONGEST_NAME = 100
"""Characters of the longest text that may name a file."""
MOST = 4000
"""Sources that are remembered; beyond them only those of the last run."""


class Import(NamedTuple):
    """An import statement: names from a module, ``level`` packages up; from None where it imports whole modules."""

    module: str | None
    level: int
    names: tuple[str, ...]


class Syntax(NamedTuple):
    """What stands in a source.

    Attributes:
        code: hash of the syntax tree, docstrings left out.
        imports: its import statements.
        texts: its string constants that are short enough to name a file, sorted.
        gathered: the commands whose tables it gathers.
    """

    code: str
    imports: tuple[Import, ...]
    texts: tuple[str, ...]
    gathered: tuple[str, ...]


def parsed(source: bytes) -> Syntax:
    """What stands in a source."""
    tree = ast.parse(source)
    imports: list[Import] = []
    texts: set[str] = set()
    gathered: list[str] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [child for child in body if not _is_documentation(child)]  # type: ignore[attr-defined]
        if isinstance(node, ast.Import):
            imports.append(Import(None, 0, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.ImportFrom):
            imports.append(Import(node.module, node.level, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= LONGEST_NAME:
            texts.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == GATHERING:
            gathered += _commands(node)
        pending.extend(ast.iter_child_nodes(node))
    code = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return Syntax(code, tuple(sorted(imports, key=str)), tuple(sorted(texts)), tuple(sorted(gathered)))


def _commands(call: ast.Call) -> list[str]:
    """The commands that a call which gathers tables names."""
    commands = [str(command.value) for command in call.args if isinstance(command, ast.Constant)]
    if len(commands) < len(call.args):
        raise ValueError(f"{ast.unparse(call)}: name commands as they are, so that they can be found")
    return commands


def _is_documentation(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class Kept:
    """What was found in sources, remembered from run to run where the folder can be written to.

    Args:
        path: the file; one that cannot be read counts as empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._edition = hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()
        self._found = self._read()
        self._used: dict[str, Syntax] = {}

    def syntax(self, source: bytes) -> Syntax:
        """What stands in a source."""
        key = hashlib.sha256(source).hexdigest()
        if key not in self._used:
            self._used[key] = self._found.get(key) or parsed(source)
        return self._used[key]

    def write(self) -> None:
        """Keep what was asked for, if any of it was new."""
        if self._used.keys() <= self._found.keys():
            return
        kept = self._found | self._used
        content = json.dumps([self._edition, kept if len(kept) <= MOST else self._used])
        try:
            with atomic_file(self._path) as partial:
                partial.write_text(content, encoding="ascii")
        except (OSError, TokbenchError):
            return  # The next run parses again.

    def _read(self) -> dict[str, Syntax]:
        try:
            edition, found = json.loads(self._path.read_text(encoding="ascii"))
            return {key: _entry(*entry) for key, entry in found.items()} if edition == self._edition else {}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}


def _entry(
    code: str, imports: list[tuple[str | None, int, list[str]]], texts: list[str], gathered: list[str]
) -> Syntax:
    """An entry as JSON has it."""
    statements = tuple(Import(module, level, tuple(names)) for module, level, names in imports)
    return Syntax(code, statements, tuple(texts), tuple(gathered))
