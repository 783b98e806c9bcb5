"""A tokenizer in a Python file of the user: a function ``encode``, or an object with ``encode``.

The file is run if the user names it: in a configuration, on the command line or in
:func:`tokbench.adapters.load.load`. Only names that the file itself defines can be named, so that a name never reaches
functions of the modules that it imports.

The folder of an imported tokenizer records the name of the file, the function and the checksum of the file, and neither
code nor a path. Opening that folder runs a file only if :data:`TRUSTED` lists it with that function, so that a folder
from somebody else runs nothing.
"""

import ast
import hashlib
import importlib.util
import json
import os
import re
import sys
from collections import defaultdict
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Literal

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.io.compression import read_regular
from tokbench.io.numbers import LARGEST_VOCABULARY, whole_argument
from tokbench.io.text_files import first_line
from tokbench.runtime.user_code import user_code
from tokbench.tokenizer.libraries.python_functions import PythonTokenizer

TRUSTED = "TOKBENCH_PYTHON"
"""Environment variable: functions of Python files that tokenizers' folders may run, as ``FILE:NAME``, joined by
``os.pathsep``. Paths are absolute, so that the current folder decides nothing."""
NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
SOURCE = re.compile(rf"(?P<module>{NAME}|.*\.py):(?P<name>{NAME})")
ENTRY = re.compile(rf"(?P<file>{re.escape(os.sep)}.+?\.py):(?P<name>{NAME})(?:{re.escape(os.pathsep)}|$)")
EXAMPLE = "write MODULE:FUNCTION, as in my_tokenizer:encode"

Binding = Literal["definition", "assignment", "import"]
FUNCTIONS = FunctionType | BuiltinFunctionType | MethodType | type


def source_of(text: str, folder: str = "") -> tuple[Path, str]:
    """Return the file and the name that ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION`` stands for.

    Args:
        text: the module, which is a file of ``folder``, or a file; and the name in it.
        folder: folder of modules. Default: the current one.

    Raises:
        TokbenchError: the text has another form.
    """
    match = SOURCE.fullmatch(text)
    if match is None:
        raise TokbenchError(f"'{shortened(text)}' is not a function of a module; {EXAMPLE}")
    module = match["module"]
    file = Path(module) if module.endswith(".py") else Path(folder, *module.split(".")).with_suffix(".py")
    return file, match["name"]


def check_source(file: Path, name: str) -> None:
    """Reject a source without running it.

    Raises:
        TokbenchError: there is no such file, it is not Python, or it does not define the name.
    """
    if not file.is_file():
        raise TokbenchError(f"no file '{file}'; modules are files of the configuration's folder")
    _bindings_of(file, read_regular(file), name)


def _bindings_of(file: Path, content: bytes, name: str) -> set[Binding]:
    """Return how a file binds a name, or the first part of one with dots.

    Raises:
        TokbenchError: the file is not Python, or does not define the name itself.
    """
    try:
        tree = ast.parse(content, str(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise TokbenchError(f"{file} is not Python ({first_line(error)}); correct it") from None
    bound = _bindings(tree)
    own = {bound_name: how for bound_name, how in bound.items() if how != {"import"}}
    if (top := name.partition(".")[0]) in own:
        return own[top]
    if top in bound:
        raise TokbenchError(f"{file}: '{top}' is imported, not defined in this file; define a function that calls it")
    raise TokbenchError(f"{file}: {unknown(top, 'name', own)}")


def _bindings(tree: ast.Module) -> dict[str, set[Binding]]:
    """Return the names that the statements of a module bind, and how. Functions and classes have names of their own."""
    bound: defaultdict[str, set[Binding]] = defaultdict(set)
    waiting: list[ast.AST] = [tree]
    while waiting:  # Expressions may be nested more deeply than functions can be.
        for node in ast.iter_child_nodes(waiting.pop()):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    bound[node.name].add("definition")
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        bound[alias.asname or alias.name.partition(".")[0]].add("import")
                case ast.Name(ctx=ast.Store()):
                    bound[node.id].add("assignment")
                case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    pass
                case _:
                    waiting.append(node)
    return bound


def entry(file: Path, name: str) -> str:
    """Return the entry of :data:`TRUSTED` for a function of a file."""
    return f"{os.path.abspath(file)}:{name}"


def trust(file: Path, name: str) -> None:
    """Let this process, and those that it starts, run a function of a file that the user named."""
    if (os.path.abspath(file), name) not in _trusted():
        os.environ[TRUSTED] = os.pathsep.join(filter(None, (os.environ.get(TRUSTED, ""), entry(file, name))))


def _trusted() -> list[tuple[str, str]]:
    """Return the files and functions of :data:`TRUSTED`.

    Raises:
        TokbenchError: it has another form.
    """
    text = os.environ.get(TRUSTED, "").strip(os.pathsep)
    places, place = [], 0
    while place < len(text):
        if (match := ENTRY.match(text, place)) is None:
            wrong = shortened(text[place:], 80)
            raise TokbenchError(f"{TRUSTED}: '{wrong}' is not an absolute FILE.py:NAME; write one, as in /here/my.py:f")
        places.append((match["file"], match["name"]))
        place = match.end()
    return places


def recorded(file: Path, name: str, content: bytes) -> bytes:
    """Return the record of a source that a tokenizer's folder has: name of the file, name in it, and its checksum."""
    return json.dumps({"file": file.name, "function": name, "sha256": _digest(content)}, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Loader(SourceFileLoader):
    """Loader of the content of the checksum. The default loader may read a cached file or a newer content."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self._content = content

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._content, self.path)


def load_module(file: Path, content: bytes, place: str) -> ModuleType:
    """Run the content of a file, and return its module. It can import modules of its folder, after all others.

    Raises:
        TokbenchError: the file raises an exception.
    """
    file = file.resolve()
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    name = f"tokbench_source_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    loader = _Loader(name, str(file), content)
    spec = importlib.util.spec_from_loader(name, loader)
    if spec is None:
        raise TokbenchError(f"{place}: cannot be imported; name a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with user_code(place, "the import of the file"):
            loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _defined(module: ModuleType, name: str, how: set[Binding]) -> Any:
    """Return the object that a name of a module refers to.

    Raises:
        TokbenchError: there is no such name, or a part of it is not defined by the module itself.
    """
    value: Any = module
    parts = name.split(".")
    for place, part in enumerate(parts):
        kind = value if isinstance(value, type) else type(value)
        if place and kind.__module__ != module.__name__:
            raise TokbenchError(f"'{parts[place - 1]}' is neither a class of this file nor an object of one; name one")
        if not hasattr(value, part):
            raise TokbenchError(unknown(part, "name", [attribute for attribute in dir(value) if attribute[0] != "_"]))
        value = getattr(value, part)
        foreign = isinstance(value, FUNCTIONS) and getattr(value, "__module__", None) != module.__name__
        if isinstance(value, ModuleType) or (foreign and (place or how != {"definition"})):
            origin = "a module" if isinstance(value, ModuleType) else f"of {getattr(value, '__module__', None)}"
            raise TokbenchError(f"'{part}' is {origin}, not of this file; define a function that calls it")
    return value


def read_source(
    file: Path, name: str, content: bytes, ids: int | None = None, place: str | None = None
) -> PythonTokenizer:
    """Run a file, and return the tokenizer of a function, an object or a class of it. A class gets no arguments.

    Args:
        file: the source.
        name: of the function, object or class in it.
        content: the file's content, which is run.
        ids: the number of ids, if the object has no ``vocab_size``. Default: the largest that Tokbench allows.
        place: name of the source in messages. Default: ``FILE:NAME``.

    Raises:
        TokbenchError: the file does not define the name, it cannot be used, or the file raises an exception.
    """
    place = place or f"{file}:{name}"
    how = _bindings_of(file, content, name)
    module = load_module(file, content, place)
    with user_code(place, "the name"):
        value = _defined(module, name, how)
    if isinstance(value, type):
        with user_code(place, "a call without arguments"):
            value = value()
    with user_code(place, "the attribute encode"):
        encode = getattr(value, "encode", value)
    if isinstance(value, str | bytes) or not callable(encode):
        raise TokbenchError(f"{place} is neither a function nor an object with encode; name one")
    with user_code(place, "the attribute decode"):
        decode = getattr(value, "decode", None)
    with user_code(place, "vocab_size"):
        size = getattr(value, "vocab_size", None)
        size = size() if callable(size) else size
        size = None if size is None else whole_argument("vocab_size", size, 1, LARGEST_VOCABULARY)
    return PythonTokenizer(place, encode, decode if callable(decode) else None, vocab_size=size, ids=ids)


def open(content: bytes, ids: int | None = None) -> PythonTokenizer:
    """Return the tokenizer of a record that an imported folder has.

    Args:
        content: the record, see :func:`recorded`.
        ids: as in :func:`read_source`.

    Raises:
        TokbenchError: :data:`TRUSTED` lists no such function of such a file, or the file has changed.
    """
    record = json.loads(content)
    named, name = Path(record["file"]).name, str(record["function"])
    listed = [Path(file) for file, function in _trusted() if function == name]
    for file in listed:
        if file.is_file() and _digest(source := read_regular(file)) == record["sha256"]:
            return read_source(file, name, source, ids)
    if same := [file for file in listed if file.name == named]:
        state = "has changed since the tokenizer was imported" if same[0].is_file() else "is not on this machine"
        raise TokbenchError(f"{same[0]} {state}; import the tokenizer again")
    raise TokbenchError(f"runs {name} of {named}; if you trust that file, set {TRUSTED}=FOLDER/{named}:{name}")
