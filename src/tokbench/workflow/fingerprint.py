"""Fingerprints of source code: a change to a method reruns only the jobs that depend on it.

A rule names the functions that make its result, ``"tokbench.corpus.prepare:prepare"``, or a module for all of its
definitions. The fingerprint includes everything that a definition uses: other definitions of ours, kernels, and data
files and templates that it names. Dependencies are found automatically. Registries are not origins, because the
configuration selects methods; rules name these methods, too. Table packages are origins completely, because a stage
makes all of their tables.

Modules for the command line, for reading and writing files and for memory limits are excluded.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tokbench.registry import PLACES, modules_in
from tokbench.workflow.module_sources import (
    COMMANDS,
    EFFECTS,
    PACKAGE,
    ModuleSource,
    Name,
    read_source,
)

ROOT = Path(__file__).parents[1]
PLUMBING = (
    "tokbench.adapters.open",
    "tokbench.api",
    "tokbench.commands",
    "tokbench.config",
    "tokbench.errors",
    "tokbench.io",
    "tokbench.models.memory",
    "tokbench.models.sampler",
    "tokbench.options",
    "tokbench.runtime",
    "tokbench.stage",
    "tokbench.workflow",
)
"""Packages and modules that cannot change a result."""
DATA = (".css", ".csv", ".html", ".js", ".yaml")
EXCLUDED_DATA = ("local_tasks.yaml", "suites.yaml")
"""Data files that are excluded because recipes contain the values taken from them."""
FLAGS = Path("kernels", "flags.json")
"""Compiler options of our kernels, which determine rounding."""
KERNEL_IMPORT = re.compile(r"^\s*from\s+(tokbench[\w.]*)\s+c?import\s+(?:\(([^)]*)\)|([^(\n#]+))", re.MULTILINE)
"""Imports of our modules in Cython sources."""
ALL_NAMES = "*"
"""Placeholder for all definitions of a module."""


@cache
def fingerprint(*names: str) -> str:
    """Return a hash of definitions and of all of our definitions, kernels and data that they use.

    Args:
        names: ``module:definition``, or a module.

    Returns:
        Sixteen hexadecimal digits.
    """
    behind = sorted(code_behind(*names).items())
    return hashlib.sha256("".join(f"{name} {code}\n" for name, code in behind).encode()).hexdigest()[:16]


def code_behind(*names: str) -> dict[str, str]:
    """Return the hashes of definitions and of all code and data that they use from Tokbench or their own package.

    Plumbing is excluded. Documentation and layout of Python modules are ignored. Cython sources are hashed completely,
    with the compiler's options. Compiled modules of other distributions are hashed, too. So are data and templates in
    the folder of a definition that names them.

    Returns:
        Hashes by ``module:definition``, or by module if it is not Python source.

    Raises:
        ValueError: one of ``names`` does not exist.
    """
    behind: dict[str, str] = {}
    seen: set[Name] = set()
    pending = [_parse_name(name) for name in names]
    commands = {name.module for name in pending if name.module.startswith(COMMANDS)}
    while pending:
        definition = pending.pop()
        if definition in seen:
            continue
        if is_plumbing(definition.module) and (definition.module not in commands or definition.name == EFFECTS):
            continue
        seen.add(definition)
        code, used = _code_and_uses(*definition)
        if code:
            behind[":".join(filter(None, definition))] = code
        pending += used
    return behind


@cache
def is_plumbing(module: str) -> bool:
    """Return whether a module cannot change a result."""
    return module == PACKAGE or any(module == name or module.startswith(f"{name}.") for name in PLUMBING)


def _parse_name(text: str) -> Name:
    """Return the definition that a rule names."""
    module, _, name = text.partition(":")
    source = _source(module)
    if module.startswith(f"{PACKAGE}.") and (_locate(module) is None or (name and source and name not in source[0])):
        raise ValueError(f"{text}: no such definition; name one as module:definition")
    return Name(module, name or ALL_NAMES)


@cache
def _code_and_uses(module: str, name: str) -> tuple[str, list[Name]]:
    """Return the hash of a definition's code (empty if it has none), and the definitions of ours that it uses."""
    source = _source(module)
    if source is None:
        return _read_file(module) if not name else ("", [Name(module, "")])
    if name == ALL_NAMES:
        return "", [Name(module, other) for other in (*source.definitions, EFFECTS)]
    if name not in source.definitions:
        if name == EFFECTS:
            return "", _packages(module)
        return "", _origins(module, source.imports[name], "") if name in source.imports else [Name(module, ALL_NAMES)]
    definition = source.definitions[name]
    used = {Name(module, EFFECTS), *_packages(module), *(Name(module, sibling) for sibling in definition.siblings)}
    for origin, attribute in definition.imported:
        used.update(_origins(module, origin, attribute))
    # Tables that are found by their place.
    for place in (place for command in definition.gathering_commands for place in PLACES[command]):
        path = _locate(place)
        folder = [str(path.parent)] if path is not None and path.name == "__init__.py" else None
        used.update(Name(table, ALL_NAMES) for table in (place, *modules_in(place, folder)))
    # Data files that the definition names.
    path = _locate(module)
    data = _data(definition.texts, path.parent) if path else b""
    code = hashlib.sha256(definition.code.encode() + data).hexdigest() if data else definition.code
    return code, sorted(used - {Name(module, name)})


def _read_file(module: str) -> tuple[str, list[Name]]:
    """Return the hash of a module that is not Python source, and the definitions of ours that it uses."""
    path = _locate(module)
    if path is None:
        return "", []
    code = path.read_bytes()
    used: set[Name] = set()
    if path.suffix in (".pyx", ".pxd"):
        header = path.with_suffix(".pxd")
        code += header.read_bytes() if path.suffix == ".pyx" and header.exists() else b""
        code += (ROOT / FLAGS).read_bytes() if module.startswith(f"{PACKAGE}.") else b""
        for parent, enclosed, plain in KERNEL_IMPORT.findall(code.decode("utf-8")):
            names = (words.split()[0] for words in (enclosed or plain).split(",") if words.strip())
            used.update(name for word in names for name in _origins(module, Name(parent, word), ""))
    return hashlib.sha256(code).hexdigest(), sorted(used - {Name(module, "")})


@cache
def _source(module: str) -> ModuleSource | None:
    """Return the top level of a module; None if it is not Python source."""
    path = _locate(module)
    if path is None or path.suffix != ".py":
        return None
    return read_source(module, path)


def _origins(module: str, bound: Name, attribute: str) -> list[Name]:
    """Return the origin of an imported name, or of an attribute if it is a module; empty if it is external."""
    if bound.module.split(".")[0] not in {PACKAGE, module.split(".")[0]}:
        return []
    source = _source(bound.module)
    path = bound.module if not bound.name else f"{bound.module}.{bound.name}"
    if not bound.name or (_locate(path) is not None and (source is None or bound.name not in source.definitions)):
        return [Name(path, attribute or ALL_NAMES)]
    return [bound]


@cache
def _locate(module: str) -> Path | None:
    """Return the path of a module's source. Ours are found without imports; others were imported for registration."""
    package, *inner = module.split(".")
    if package == PACKAGE:
        path = ROOT.joinpath(*inner)
        candidates = (path / "__init__.py", *map(path.with_suffix, (".py", ".pyx", ".pxd")))
        return next((candidate for candidate in candidates if candidate.is_file()), None)
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec is not None and spec.has_location else None
    return Path(origin) if origin else None


def _packages(module: str) -> list[Name]:
    """Return the packages of a module, whose code runs before it is imported."""
    parts = module.split(".")
    return [Name(".".join(parts[:depth]), EFFECTS) for depth in range(1, len(parts))]


def _data(texts: Iterable[str], folder: Path) -> bytes:
    """Return a hash of the data and templates in a folder whose names, with or without ending, are among the texts."""
    files = [file for file in _data_of(folder) if not {file.name, file.stem}.isdisjoint(texts)]
    return b"".join(hashlib.sha256(file.name.encode() + b"\0" + file.read_bytes()).digest() for file in files)


@cache
def _data_of(folder: Path) -> list[Path]:
    """List the data and templates of a folder."""
    files = (file for pattern in ("*", "templates/*") for file in folder.glob(pattern))
    return sorted(file for file in files if file.suffix in DATA and file.name not in EXCLUDED_DATA)
