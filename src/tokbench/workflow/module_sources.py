"""Definitions at the top level of Python modules, with what each of them uses, for fingerprints of code.

Parsing and walking the syntax trees of hundreds of modules takes seconds. What a module defines depends on its text
only, so it is kept by the hash of the text, in the user's cache (:mod:`tokbench.io.user_cache`).
"""

import ast
import atexit
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.user_cache import remove_oldest, user_cache

PACKAGE = "tokbench"
COMMANDS = "tokbench.commands."
"""Beginning of the modules of commands. A stage may be the function of a command; then what its module defines counts,
without declarations of commands."""
GATHERING_FUNCTION = "tables_of"
"""Function that imports all modules with tables of some commands, see :mod:`tokbench.tabulation.table`."""
LONGEST_NAME = 100
"""Maximum characters of a string constant that may name a file."""
EFFECTS = ""
"""Placeholder for the statements of a module that define nothing, which run on import."""
IMPORTS = (ast.Import, ast.ImportFrom)
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp)
MOST = 10
"""Number of files that are kept, the last ones. There is one for each installed copy of Tokbench."""


class Name(NamedTuple):
    """A name at the top level of a module; empty for an import of the module itself."""

    module: str
    name: str


class Import(NamedTuple):
    """A name that a definition reads and the module or the definition imports, with the attribute read from it."""

    origin: Name
    attribute: str


class Definition(NamedTuple):
    """The statements that define a name of a module.

    Attributes:
        code: hash of the statements, without documentation and layout, in hexadecimal digits.
        siblings: names of the same module that they read.
        imported: names that they read and that come from the same distribution or from Tokbench.
        texts: string constants that are short enough to name a file.
        gathering_commands: commands whose tables are gathered.
    """

    code: str
    siblings: list[str]
    imported: list[Import]
    texts: list[str]
    gathering_commands: list[str]


class ModuleSource(NamedTuple):
    """Top level of a Python module.

    Attributes:
        definitions: the definition of each name, and under ``EFFECTS`` that of the statements that define none.
        imports: the origin of each imported name.
    """

    definitions: dict[str, Definition]
    imports: dict[str, Name]


class Uses:
    """Code and dependencies of statements, collected in one pass over their syntax trees.

    Attributes:
        code: the trees as text, without documentation and layout.
        names: names that are read, each with the attribute that is read from it, or an empty string.
        imports: import statements.
        texts: string constants that are short enough to name a file.
        gathering_commands: the commands whose tables are gathered.
    """

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self.code: list[str] = []
        self.names: set[tuple[str, str]] = set()
        self.imports: list[ast.stmt] = []
        self.texts: set[str] = set()
        self.gathering_commands: list[str] = []
        for statement in statements:
            self._add(statement)

    def _add(self, node: ast.AST) -> None:
        self.code.append(type(node).__name__)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            self.names.add((node.value.id, node.attr))
            self.code += [node.value.id, node.attr]
            return
        self._note(node)
        for field, value in ast.iter_fields(node):
            self.code.append(field)
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    self.code.append(repr(child))
                elif field != "body" or not _is_documentation(child):
                    self._add(child)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.names.add((node.id, ""))
        elif isinstance(node, IMPORTS):
            self.imports.append(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= LONGEST_NAME:
            self.texts.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == GATHERING_FUNCTION:
            commands = [str(command.value) for command in node.args if isinstance(command, ast.Constant)]
            if len(commands) < len(node.args):
                raise ValueError(f"{ast.unparse(node)}: name commands as string constants, so that they can be found")
            self.gathering_commands += commands


def read_source(module: str, path: Path) -> ModuleSource:
    """Return the top level of a Python module, from the user's cache if its text is unchanged.

    Args:
        module: full name of the module.
        path: its file.
    """
    text = path.read_bytes()
    hashed = hashlib.sha256(text).hexdigest()
    with suppress(LookupError, ValueError, TypeError, AttributeError):  # A damaged entry is made again.
        if (kept := _kept()[module])[0] == hashed:
            return _decode(*kept[1:])
    source = parse_source(module, text, package=path.name == "__init__.py")
    _kept()[module] = [hashed, source.definitions, source.imports]
    _keep_at_exit()
    return source


def parse_source(module: str, text: bytes, *, package: bool = False) -> ModuleSource:
    """Return the top level of a Python module.

    Args:
        module: full name of the module.
        text: its source.
        package: whether it is the module of a package (default: False).

    Raises:
        ValueError: a call gathers tables of commands that are not string constants.
    """
    statements: dict[str, list[ast.stmt]] = {}
    imports: list[ast.stmt] = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue  # Such imports never run.
        nodes = list(_own_nodes(statement))
        inner = [node for node in nodes if isinstance(node, IMPORTS)]
        names = set(filter(None, map(_defined_name, nodes)))
        imports += inner
        if names or not (isinstance(statement, IMPORTS) or _is_documentation(statement)):
            for name in names or {EFFECTS}:
                statements.setdefault(name, []).append(statement)
    parent = module if package else module.rpartition(".")[0]
    bound = _bindings(imports, parent)
    definitions = {
        name: _definition(_without_declarations(parts) if module.startswith(COMMANDS) else parts, statements, bound,
                          parent, module.split(".")[0])
        for name, parts in statements.items()
    }  # fmt: skip
    return ModuleSource(definitions, bound)


def _definition(
    parts: list[ast.stmt], module: Iterable[str], imports: dict[str, Name], parent: str, distribution: str
) -> Definition:
    """Return a definition.

    Args:
        parts: its statements.
        module: the names that its module defines.
        imports: the origin of each name that its module imports.
        parent: package of the module.
        distribution: the outermost package.
    """
    uses = Uses(parts)
    bound = imports | _bindings(uses.imports, parent)
    siblings, imported, foreign = [], [], []
    for word, attribute in sorted(uses.names):
        if word in module:
            siblings.append(word)
        elif word in bound and bound[word].module.split(".")[0] in {PACKAGE, distribution}:
            imported.append(Import(bound[word], attribute))
        elif word in bound:
            foreign.append(f"{word} {bound[word]}")
    code = hashlib.sha256(" ".join((*uses.code, *sorted(foreign))).encode()).hexdigest()
    return Definition(code, siblings, imported, sorted(uses.texts), uses.gathering_commands)


def _without_declarations(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a command without its declaration, whose options and help change no result."""
    copies = [copy(statement) for statement in statements]
    for statement in copies:
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = []
    return copies


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a top-level statement and its inner nodes, without the bodies of functions and classes."""
    yield node
    if not isinstance(node, INNER):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)


def _defined_name(node: ast.AST) -> str:
    """Return the name that a node defines or changes; empty if there is none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    changed = isinstance(getattr(node, "ctx", None), ast.Store)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if changed and isinstance(node, ast.Name) else ""


def _bindings(statements: Iterable[ast.stmt], package: str) -> dict[str, Name]:
    """Return the origin of the names bound by import statements in a module of a package."""
    bindings: dict[str, Name] = {}
    for statement in statements:
        for alias in statement.names if isinstance(statement, IMPORTS) else ():
            if isinstance(statement, ast.Import):
                bindings[alias.asname or alias.name.partition(".")[0]] = Name(alias.name, "")
            elif isinstance(statement, ast.ImportFrom):
                parent = "." * statement.level + (statement.module or "")
                bindings[alias.asname or alias.name] = Name(resolve_name(parent, package or None), alias.name)
    return bindings


def _is_documentation(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# The cache


@cache
def _keep_at_exit() -> None:
    """Have the modules written to the user's cache when this process ends."""
    atexit.register(_keep)


def _keep() -> None:
    path = _cache_file()
    if path is None:
        return
    with suppress(TokbenchError, OSError):  # A cache that cannot be written is not an error.
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_text(json.dumps(_kept()))
        remove_oldest(path.parent, MOST)


@cache
def _kept() -> dict[str, list[Any]]:
    """Return the hash of the text, the definitions and the imports of each module in the cache."""
    path = _cache_file()
    if path is None:
        return {}
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _cache_file() -> Path | None:
    """Return the file of the cache for this copy of Tokbench, this module and this version of Python."""
    folder = user_cache("modules")
    key = f"{__file__} {sys.version_info[:2]} ".encode() + Path(__file__).read_bytes()
    return None if folder is None else folder / f"{hashlib.sha256(key).hexdigest()}.json"


def _decode(definitions: dict[str, list[Any]], imports: dict[str, list[str]]) -> ModuleSource:
    decoded = {
        name: Definition(code, siblings, [Import(Name(*origin), attribute) for origin, attribute in imported], *rest)
        for name, (code, siblings, imported, *rest) in definitions.items()
    }
    return ModuleSource(decoded, {name: Name(*origin) for name, origin in imports.items()})
