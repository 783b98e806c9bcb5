"""A tokenizer in a Python file of the user: a function ``encode``, or an object with ``encode``.

The file is run if the user names it: in a configuration, on the command line or in
:func:`tokbench.adapters.load.load`. The folder of an imported tokenizer records the file. Opening that folder runs the
file only if :data:`TRUSTED` lists it, so that a folder from somebody else runs nothing.
"""

import ast
import hashlib
import importlib.util
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.io.compression import read_regular
from tokbench.io.numbers import LARGEST_VOCABULARY, whole_argument
from tokbench.io.text_files import first_line
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer.encoder import as_ids, shown

TRUSTED = "TOKBENCH_PYTHON"
"""Environment variable: files of Python that tokenizers' folders may run, separated by ``os.pathsep``."""
SOURCE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*|.*\.py):(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)")
EXAMPLE = "write MODULE:FUNCTION, as in my_tokenizer:encode"


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
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise TokbenchError(f"{file} is not Python ({first_line(error)}); correct it") from None
    defined = _defined(tree.body)
    if "*" not in defined and (top := name.partition(".")[0]) not in defined:
        raise TokbenchError(f"{file}: {unknown(top, 'name', sorted(defined))}")


def _defined(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind; ``*`` if they import all names of a module."""
    names = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        else:
            names.update(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
            names.update(_defined(ast.iter_child_nodes(statement)))
    return names


def trust(file: Path) -> None:
    """Let this process, and those that it starts, run a file that the user named."""
    files = os.environ.get(TRUSTED, "").split(os.pathsep)
    if str(file.resolve()) not in files:
        os.environ[TRUSTED] = os.pathsep.join([*filter(None, files), str(file.resolve())])


def recorded(file: Path, name: str) -> bytes:
    """Return the record of a source that a tokenizer's folder has: the file, the name in it, and its checksum."""
    values = {"file": str(file.resolve()), "function": name, "sha256": _digest(file)}
    return json.dumps(values, sort_keys=True).encode()


def _digest(file: Path) -> str:
    return hashlib.sha256(read_regular(file)).hexdigest()


def load_module(file: Path) -> ModuleType:
    """Run a file, and return its module. Modules of its folder can be imported by it, after all others.

    Raises:
        TokbenchError: the file raises an exception.
    """
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    name = f"tokbench_source_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TokbenchError(f"{file}: cannot be imported; give a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if may_be_short(error):
            raise
        raise TokbenchError(f"{file}: cannot be imported ({_named(error)}); correct it") from error
    return module


class PythonTokenizer:
    """A function ``encode``, or an object with ``encode`` and maybe ``decode`` and ``vocab_size``.

    A class is called without arguments. One call is made at a time.

    Attributes:
        vocab_size: number of ids; None if the object does not say.
        ids: ids are below this number.
        can_decode: whether there is a ``decode``.

    Args:
        file: the source.
        name: of the function or object in it.
        ids: the number of ids, if the object does not say. Default: the largest that Tokbench allows.

    Raises:
        TokbenchError: there is no such name, or it cannot be used.
    """

    unknown = None

    def __init__(self, file: Path, name: str, ids: int | None = None) -> None:
        self.place = f"{file}: {name}"
        value: Any = load_module(file)
        for part in name.split("."):
            if not hasattr(value, part):
                raise TokbenchError(f"{file}: {unknown(part, 'name', [one for one in dir(value) if one[0] != '_'])}")
            value = getattr(value, part)
        if isinstance(value, type):
            value = self._call("called without arguments", value)
        encode = getattr(value, "encode", value)
        if isinstance(value, str | bytes) or not callable(encode):
            raise TokbenchError(f"{self.place} is neither a function nor an object with encode; name one")
        self._encode, self._decode = encode, getattr(value, "decode", None)
        self.can_decode = callable(self._decode)
        size = getattr(value, "vocab_size", None)
        size = self._call("vocab_size", size) if callable(size) else size
        self.vocab_size = None if size is None else whole_argument(f"{self.place}.vocab_size", size, 1, LARGEST)
        self.ids = self.vocab_size or ids or LARGEST
        self._lock = threading.Lock()

    def _call(self, what: str, function: Any, *values: Any) -> Any:
        try:
            return function(*values)
        except Exception as error:
            if may_be_short(error):
                raise
            raise TokbenchError(f"{self.place}: {what} raised {_named(error)}; correct it") from error

    def encode(self, text: str) -> list[int]:
        with self._lock:
            encoded = self._call("encode", self._encode, text)
        if isinstance(encoded, Mapping) or hasattr(encoded, "input_ids"):
            encoded = encoded["input_ids"]
        encoded = getattr(encoded, "ids", encoded)
        if isinstance(encoded, str | bytes) or not isinstance(encoded, Iterable):
            raise TokbenchError(f"{self.place}: encode returned {shown(encoded)}; return a list of ids")
        values = encoded.tolist() if hasattr(encoded, "tolist") else list(encoded)
        if any(isinstance(value, str | bytes) for value in values):
            raise TokbenchError(f"{self.place}: encode returned pieces of text; return their ids")
        ids: list[int] = as_ids(values).tolist()
        if wrong := [index for index in ids if not 0 <= index < self.ids]:
            size = "" if self.vocab_size or wrong[0] < 0 else "; define vocab_size, since import saw no larger id"
            raise TokbenchError(f"{self.place}: encode returned the id {wrong[0]}; ids are 0 to {self.ids - 1}{size}")
        return ids

    def spans(self, text: str) -> None:
        return None

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        if not callable(self._decode):
            raise TokbenchError(f"{self.place} has no decode; name an object that has one")
        with self._lock:
            text = self._call("decode", self._decode, ids)
        if not isinstance(text, str | bytes):
            raise TokbenchError(f"{self.place}: decode returned {shown(text)}; return str or bytes")
        return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text

    def name(self, one: int) -> bytes:
        try:
            return self.decode([one], {})
        except TokbenchError:
            return b"<%d>" % one

    def id_of(self, name: str) -> None:
        return None

    def bytes_of(self, one: int) -> bytes:
        return self.decode([one], {})

    def form(self, one: int) -> None:
        return None

    def normalized(self, text: str) -> str:
        return text

    def changed(self, text: str) -> int:
        return 0


LARGEST = LARGEST_VOCABULARY


def _named(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {first_line(error)}", 200)


def open(content: bytes, ids: int | None = None) -> PythonTokenizer:
    """Return the tokenizer of a record that an imported folder has.

    Args:
        content: the record, see :func:`recorded`.
        ids: as in :class:`PythonTokenizer`.

    Raises:
        TokbenchError: the file is not on this machine, has changed, or may not be run.
    """
    record = json.loads(content)
    file, name = Path(record["file"]), str(record["function"])
    if not file.is_file():
        raise TokbenchError(f"runs {name} of {file}, which is not on this machine; import the tokenizer here")
    if _digest(file) != record["sha256"]:
        raise TokbenchError(f"{file} has changed since the tokenizer was imported; import the tokenizer again")
    if str(file) not in os.environ.get(TRUSTED, "").split(os.pathsep):
        raise TokbenchError(f"runs code of {file}; if you trust that file, set {TRUSTED}={file}")
    return PythonTokenizer(file, name, ids)
