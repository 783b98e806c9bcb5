"""Fingerprints of source code, so that a change to a method reruns that method's chain and nothing else.

What a command's result depends on is what its module imports, directly or not; no list of it is kept. A registry is a
seam: which methods a command calls is the configuration's choice, and their modules are named beside the command's.
Tables are none: a command makes all that the modules of a package declare, which count as imported where they are
gathered.
"""

import atexit
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

from tokbench.tidy.modules import PLACES, modules_in
from tokbench.workflow.syntax import KEPT, Kept, Syntax

PACKAGE = "tokbench"
ROOT = Path(__file__).parents[1]
PLUMBING = tuple(
    f"{PACKAGE}.{module}"
    for module in (
        "__main__",
        "allowance",
        "atomic",
        "auto_tokenizer",
        "byte_lm.needs",
        "commands.arguments",
        "commands.devices",
        "commands.evaluation_needs",
        "commands.fields",
        "commands.inputs",
        "commands.log",
        "commands.main",
        "commands.memory_option",
        "commands.method_name",
        "commands.numbers",
        "commands.outputs",
        "commands.pretokenization_option",
        "config",
        "downstream.needs",
        "errors",
        "faults",
        "gauge",
        "imported",
        "inputs.numbers",
        "inputs.paths",
        "inputs.strict",
        "lean",
        "manifest",
        "meanings",
        "memory",
        "needs",
        "options",
        "pretraining.needs",
        "translation.needs",
        "workflow",
    )
)
"""Modules that no result depends on: how options are read, which recipes hold as they were read, how memory is told and
files are written, and what notes who made them."""
CHOSEN = {
    "tokbench.building": {"tokbench.candidates.running_text", "tokbench.candidates.scored_text"},
    "tokbench.commands.construction_inputs": {"tokbench.candidates.running_text", "tokbench.candidates.scored_text"},
    "tokbench.commands.train_byte_lm": {"tokbench.byte_lm.ngram", "tokbench.byte_lm.train"},
    "tokbench.commands.score_bytes": {"tokbench.byte_lm.ngram", "tokbench.byte_lm.score"},
}
"""Seams without a registry: of these modules a command calls only what the chosen method is made of or imports."""
DATA = (".css", ".csv", ".html", ".js", ".yaml")
SPELLED_OUT = ("local_tasks.yaml", "suites.yaml")
"""Data of which recipes hold in full whatever is taken from them."""
FLAGS = Path("kernels", "flags.json")
"""The options with which our kernels are compiled: they decide how sums round."""
KERNEL_IMPORT = re.compile(r"^\s*from\s+(tokbench[\w.]*)\s+c?import\s+(?:\(([^)]*)\)|([^(\n#]+))", re.MULTILINE)
"""How our Cython sources import modules of ours."""


@cache
def fingerprint(*modules: str) -> str:
    """Hash of the modules' code and of all our own modules, kernels and data behind them.

    Returns:
        Sixteen hexadecimal digits.
    """
    behind = sorted(code_behind(*modules).items())
    return hashlib.sha256("".join(f"{name} {code}\n" for name, code in behind).encode()).hexdigest()[:16]


def code_behind(*modules: str) -> dict[str, str]:
    """The modules and all that they import of ours or of their own package, plumbing left out, with a hash of each.

    Documentation and layout do not count in Python modules (the syntax tree is hashed, docstrings left out). Cython
    sources count as they stand, with the compiler's options; so do compiled modules of other distributions, and data
    and templates that lie beside a module which names them.
    """
    seen: dict[str, str] = {}
    pending = list(modules)
    while pending:
        module = pending.pop()
        if module in seen or is_plumbing(module):
            continue
        code, imports = _read(module)
        seen[module] = code
        pending.extend(imports)
        pending.extend(_packages(module))
    return seen


@cache
def is_plumbing(module: str) -> bool:
    """Whether a module cannot change what a command writes."""
    return module == PACKAGE or any(module == name or module.startswith(f"{name}.") for name in PLUMBING)


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """Hash of one module's code, and the modules that it imports of ours and of its own package."""
    path = _locate(module)
    if path is None:
        return "", ()
    code = path.read_bytes()
    imports: set[str] = set()
    if path.suffix in (".pyx", ".pxd"):
        header = path.with_suffix(".pxd")
        code += header.read_bytes() if path.suffix == ".pyx" and header.exists() else b""
        code += (ROOT / FLAGS).read_bytes() if module.startswith(f"{PACKAGE}.") else b""
        imports = set(_kernel_imports(code.decode("utf-8")))
    elif path.suffix == ".py":
        syntax = _kept().syntax(code)
        imports = {*_imports(syntax, module, is_package=path.name == "__init__.py"), *_gathered(syntax)}
        code = syntax.code.encode() + _data(syntax, path.parent)
    return hashlib.sha256(code).hexdigest(), tuple(sorted(imports - CHOSEN.get(module, set()) - {module}))


@cache
def _kept() -> Kept:
    """What was found in sources before, and what is found in this run once it ends."""
    kept = Kept(KEPT.absolute())
    atexit.register(kept.write)
    return kept


@cache
def _locate(module: str) -> Path | None:
    """The module's source. Ours are found without importing anything; others were imported to be registered."""
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


def _packages(module: str) -> list[str]:
    """The packages that a module lies in; they are imported before it."""
    parts = module.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _data(syntax: Syntax, folder: Path) -> bytes:
    """Hash of the data and templates that lie beside a module and that it names, with their ending or without."""
    files = [file for file in _beside(folder) if not {file.name, file.stem}.isdisjoint(syntax.texts)]
    return b"".join(hashlib.sha256(file.name.encode() + b"\0" + file.read_bytes()).digest() for file in files)


@cache
def _beside(folder: Path) -> list[Path]:
    """Data and templates of a folder."""
    found = (file for pattern in ("*", "templates/*") for file in folder.glob(pattern))
    return sorted(file for file in found if file.suffix in DATA and file.name not in SPELLED_OUT)


def _kernel_imports(text: str) -> Iterator[str]:
    for parent, enclosed, plain in KERNEL_IMPORT.findall(text):
        for name in (enclosed or plain).split(","):
            if name.strip():
                yield _module(parent, name.split()[0])


def _imports(syntax: Syntax, module: str, *, is_package: bool) -> Iterator[str]:
    own = {PACKAGE, module.split(".")[0]}
    here = module if is_package else module.rpartition(".")[0]
    for source, level, names in syntax.imports:
        parent = resolve_name("." * level + (source or ""), here or None) if level else source
        if parent is None:
            yield from (name for name in names if name.split(".")[0] in own)
        elif parent.split(".")[0] in own:
            yield from (_module(parent, name) for name in names)


def _gathered(syntax: Syntax) -> Iterator[str]:
    """The modules in the packages whose tables are gathered, those of other distributions included."""
    for place in (place for command in syntax.gathered for place in PLACES[command]):
        yield place
        yield from modules_in(place, _folder(place))


def _folder(place: str) -> list[str] | None:
    """Where a package lies; None for a module by itself."""
    path = _locate(place)
    return [str(path.parent)] if path is not None and path.name == "__init__.py" else None


def _module(parent: str, name: str) -> str:
    """The module that ``from parent import name`` reads: the name itself where it is a module."""
    inner = f"{parent}.{name}"
    return inner if _locate(inner) else parent
