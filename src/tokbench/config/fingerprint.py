"""Fingerprints of source code, so that a change to a method reruns that method's chain and nothing else."""

import ast
import hashlib
import re
import sys
from functools import cache
from pathlib import Path

PACKAGE = "tokbench"
ROOT = Path(__file__).parents[1]
NOT_FOLLOWED = ("tokbench.registry", "tokbench.atomic", "tokbench.config", "tokbench.inputs")
"""Modules that carry no arithmetic: how methods are found and files are written, not what is in them."""
DATA = (".css", ".csv", ".html", ".js", ".yaml")
LEAVES = "tokbench.commands."
"""Verbs only hand on what they are given, so their own code counts but not all that they import."""
KERNEL_IMPORT = re.compile(r"^\s*from\s+(tokbench[\w.]*)\s+c?import\s+([\w, ]+)", re.MULTILINE)
"""How our Cython sources import modules of ours."""


@cache
def fingerprint(*modules: str) -> str:
    """Hash of the modules' code and of all our own modules and kernels that they import, directly or not.

    Documentation and layout do not count in Python modules (the syntax tree is hashed, docstrings left out); Cython
    sources, data and templates beside a module count as they stand. Modules of other distributions are hashed as far
    as they are named here.

    Returns:
        Sixteen hexadecimal digits.
    """
    seen: dict[str, str] = {}
    pending = list(modules)
    while pending:
        module = pending.pop()
        if module in seen or module.startswith(NOT_FOLLOWED):
            continue
        code, imports = _read(module)
        seen[module] = code
        pending.extend(imports)
    digest = hashlib.sha256("".join(f"{name} {code}\n" for name, code in sorted(seen.items())).encode())
    return digest.hexdigest()[:16]


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """Hash of one module's code, and the modules of ours that it imports."""
    path = _locate(module)
    if path is None:
        return "", ()
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".pyx", ".pxd"):
        header = path.with_suffix(".pxd")
        text += header.read_text(encoding="utf-8") if path.suffix == ".pyx" and header.exists() else ""
        imports = {
            _module(parent, name.split()[0])
            for parent, names in KERNEL_IMPORT.findall(text)
            for name in names.split(",")
        }
    else:
        tree = ast.parse(text)
        imports = _imports(tree)
        text = ast.dump(_without_docstrings(tree)) + _data(path.parent)
    if module.startswith(LEAVES):
        imports = set()
    return hashlib.sha256(text.encode()).hexdigest(), tuple(sorted(imports - {module}))


@cache
def _locate(module: str) -> Path | None:
    """The module's source. Ours are found without importing anything; others were imported to be registered."""
    package, *inner = module.split(".")
    if package != PACKAGE:
        origin = getattr(sys.modules.get(module), "__file__", None)
        return Path(origin) if origin else None
    path = ROOT.joinpath(*inner)
    candidates = (path / "__init__.py", *map(path.with_suffix, (".py", ".pyx", ".pxd")))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def _data(folder: Path) -> str:
    """Hash of the data and templates that lie beside a package's modules."""
    files = sorted(file for pattern in ("*", "templates/*") for file in folder.glob(pattern) if file.suffix in DATA)
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()


def _imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
            found.update(_module(node.module, alias.name) for alias in node.names)
    return found


def _module(parent: str, name: str) -> str:
    """The module that ``from parent import name`` reads: the name itself where it is a module."""
    inner = f"{parent}.{name}"
    return inner if _locate(inner) else parent


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            node.body = [  # type: ignore[attr-defined]
                child for child in body if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
            ]
    return tree
