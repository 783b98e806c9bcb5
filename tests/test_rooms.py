"""Every import leads to a lower floor, none in a circle, and names in docstrings exist.

Other libraries are used through their public names, and nothing in them is replaced.

Stubs of the kernels are made from their signatures.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import tool_of
from tests.support.workflow.checkout import ROOT

SOURCE = ROOT / "src" / "tokbench"
ROLE = re.compile(r":(?:mod|data|class|func|meth|attr):`~?tokbench\.([\w.]+)`")
rooms = tool_of("make_contributing")


def test_every_room_is_on_a_floor() -> None:
    named = [room for floor in rooms.read_floors() for room in floor]
    assert sorted(named) == sorted({rooms.room_of(path) for path in rooms.modules()} - {"__init__", "__main__"})


def test_every_import_goes_down() -> None:
    assert rooms.upward_imports() == []


def test_modules_of_a_package_import_each_other_in_no_circle() -> None:
    assert rooms.circles() == {}


@pytest.mark.parametrize(
    ("low", "high", "circle"),
    [
        ("import tokbench.room.high", "from tokbench.room import low", ["high", "low"]),
        (
            "def f():\n    from tokbench.room.high import x",
            "def f():\n    from tokbench.room.low import y",
            ["high", "low"],
        ),
        ("def f():\n    import_module('tokbench.room.high')", "import tokbench.room.low", ["high", "low"]),
        ("from tokbench.room.inner.deep import x", "from tokbench.room.low import y", []),
        ("from tokbench.room.inner.deep import x", "", ["inner", "low"]),
        ("from tokbench.room import x", "", ["__init__", "low"]),
    ],
)
def test_circles_are_found(
    low: str, high: str, circle: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of modules, of a module and a folder, and of a module and its package."""
    source = tmp_path / "tokbench"
    monkeypatch.setattr(rooms, "SOURCE", source)
    (source / "room" / "inner").mkdir(parents=True)
    (source / "room" / "__init__.py").write_text(
        "def f():\n    import tokbench.room.low\n" if "room import x" in low else ""
    )
    (source / "room" / "inner" / "deep.py").write_text("" if high else "from tokbench.room.low import y\n")
    (source / "room" / "low.py").write_text(low + "\n")
    (source / "room" / "high.py").write_text(high + "\n")
    assert rooms.circles() == ({"room": circle} if circle else {})


def test_imports_are_seen_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the top, inside a function, of a module by its package, by a name, and in Cython."""
    tmp_path /= "tokbench"
    tmp_path.mkdir()
    monkeypatch.setattr(rooms, "SOURCE", tmp_path)
    for room in ("low", "high"):
        (tmp_path / room).mkdir()
    (tmp_path / "high.py").touch()
    python, cython = tmp_path / "low" / "a.py", tmp_path / "low" / "b.pyx"
    python.write_text(
        "from tokbench.high import x\ndef f():\n    from tokbench import high\n    import tokbench.high.y\n"
        "    importlib.import_module('tokbench.high')\n"
    )
    cython.write_text("cimport cython\nfrom tokbench.high.c cimport (d, e)\nfrom tokbench.low.x import g\n")
    assert list(rooms.imports_of(python)) == [(1, "high"), (3, "high"), (4, "high"), (5, "high")]
    assert list(rooms.imports_of(cython)) == [(2, "high"), (2, "high")]


def test_the_map_is_made_from_the_floors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert rooms.page(text) == text, "run python tools/make_contributing.py"


def defined_in(target: str) -> bool:
    """Return whether the last name of a dotted path is a module or is defined at the start of a line of one."""
    parts = target.split(".")
    for length in range(len(parts), 0, -1):
        base = SOURCE.joinpath(*parts[:length])
        places = [base / "__init__.py", *(base.with_suffix(suffix) for suffix in (".py", ".pyx", ".pyi"))]
        if there := [place for place in places if place.is_file()]:
            name = parts[-1]
            start = re.compile(rf"^\s*(?:.*?(?:def|class)\s+)?{name}\b", re.MULTILINE)
            return length == len(parts) or any(start.search(place.read_text(encoding="utf-8")) for place in there)
    return False


def test_references_in_docstrings_exist() -> None:
    modules = [path for path in SOURCE.rglob("*.py*") if path.suffix in (".py", ".pyx", ".pyi")]
    named = {target for path in modules for target in ROLE.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 100
    assert not {target for target in named if not defined_in(target)}


PRIVATE_IMPORTS_ROOT = Path(__file__).parents[1]
OURS = ("tokbench", "snakemake_logger_plugin_lines", "__future__")
DOCUMENTED = {"_thread", "logging.raiseExceptions", "sys.argv", "sys.stdin", "sys.stdout", "sys.stderr"}
"""Names and attributes that Python's own documentation says may be imported and assigned."""
ALLOWED = {
    "src/tokbench/auto_tokenizer.py": {"sys.meta_path"},
    "src/tokbench/tokenizer/libraries/python.py": {"sys.modules"},
    "rules/common.smk": {"sys.modules"},
}
"""The finder that registers our class when transformers is imported, which has no entry point for it; the
module of a user's file, as Python's documentation imports one; Snakemake's modules, in a file that is not Python."""
CHANGES = {"update", "pop", "setdefault", "clear", "__setitem__", "__delitem__"}
IN_RULES = re.compile(r"(sys\.modules|sys\.meta_path)|import (_\w+)|from \S*\._\w+ (import)")


def private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def foreign(module: str) -> bool:
    return module.split(".")[0] not in OURS


def root(node: ast.expr) -> str | None:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return None
    return node.id


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """By the name that it is bound to, each module or name that is imported from other packages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if foreign(alias.name):
                    yield alias.asname or alias.name.split(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and foreign(str(node.module)):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def assigned(tree: ast.AST) -> Iterator[ast.expr]:
    """Attributes that are assigned, deleted, or set by ``setattr``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            yield node.args[0]


def import_system(tree: ast.AST) -> Iterator[str]:
    """Uses of ``sys.meta_path``, and of ``sys.modules`` to change it or to find a library by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.meta_path":
            yield "sys.meta_path"
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Constant | ast.JoinedStr):
                yield "sys.modules"
        elif isinstance(node, ast.Attribute) and node.attr in CHANGES and ast.unparse(node.value) == "sys.modules":
            yield "sys.modules"


def faults(source: str) -> set[str]:
    """Return forbidden imports, assignments and uses of a Python file."""
    tree = ast.parse(source)
    bound = dict(imports(tree))
    changed = {ast.unparse(node) for node in assigned(tree) if root(node) in bound}
    return ({name for name in bound.values() if private(name)} | changed | {*import_system(tree)}) - DOCUMENTED


def not_allowed(files: Iterable[Path], faults_of: Callable[[str], set[str]]) -> dict[str, set[str]]:
    found = {str(file.relative_to(PRIVATE_IMPORTS_ROOT)): faults_of(file.read_text(encoding="utf-8")) for file in files}
    return {name: rest for name, each in found.items() if (rest := each - ALLOWED.get(name, set()))}


def test_other_libraries_are_used_through_public_names() -> None:
    assert not not_allowed((PRIVATE_IMPORTS_ROOT / "src").rglob("*.py"), faults)


def test_rules_use_public_names() -> None:
    def named(source: str) -> set[str]:
        return {next(filter(None, groups)) for groups in IN_RULES.findall(source)}

    assert not not_allowed([PRIVATE_IMPORTS_ROOT / "Snakefile", *(PRIVATE_IMPORTS_ROOT / "rules").glob("*.smk")], named)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from lm_eval.tasks._yaml_loader import load_yaml", "lm_eval.tasks._yaml_loader.load_yaml"),
        ("from torch import _dynamo", "torch._dynamo"),
        ("import torch._dynamo", "torch._dynamo"),
        ("from composer.utils import dist\ndist.barrier = None", "dist.barrier"),
        ("import torch\nsetattr(torch.nn, 'Linear', None)", "torch.nn"),
        ("import sys\nsys.modules['boto3'] = None", "sys.modules"),
        ("import sys\nsys.modules.update(boto3=None)", "sys.modules"),
        ("import sys\nfind = sys.modules['snakemake'].find", "sys.modules"),
        ("import sys\nsys.meta_path.insert(0, None)", "sys.meta_path"),
    ],
)
def test_faults_are_found(source: str, fault: str) -> None:
    assert faults(source) == {fault}


def test_private_imports_and_assignments_of_our_modules_are_allowed() -> None:
    imported = "import sys, os\nfrom tokbench.kernels import _flags\n"
    assert faults(imported + "_flags.x = sys.modules[_flags.y]\nos.environ['a'] = 'b'") == set()


KERNELS = ROOT / "src" / "tokbench" / "kernels"
make_stubs = tool_of("make_stubs")

KERNEL_STUBS_SOURCE = '''
from tokbench.kernels.trie cimport Trie, step

MAX_WIDTH = 2 ** 5


cdef int64_t inner(int64_t n) noexcept nogil:
    return n


cdef class Counter(Base):
    """A class."""

    def __cinit__(self, Trie trie not None, int32_t[:, ::1] tally, Trie rest=None, bint wide=False):
        pass

    def add(
        self,
        const uint8_t[::1] text not None,
        const double[::1] scores=None,
        share: Callable[[int, int], object] | None = None,
        *,
        double rate=1e-3,
    ) -> tuple[NDArray[np.int32], int]:
        r"""Add, and
        return.
        """
        def nested(x):
            return x

    @property
    def size(self) -> int:
        """A size."""
'''
DECLARATIONS = """
cpdef enum Scheme:
    NONE
    SPACE


cdef class Counter:
    cdef readonly int64_t nodes, tokens
    cdef readonly Trie trie
    cdef readonly Scheme scheme
    cdef int hidden
"""
STUB = '''
from tokbench.kernels.trie import Trie


class Scheme(IntFlag):
    NONE = 0
    SPACE = 1


MAX_WIDTH: int


class Counter(Base):
    ...

    def __init__(self, trie: Trie, tally: NDArray[np.int32], rest: Trie | None = None, wide: bool = False) -> None:
        ...

    def add(self, text: bytes | NDArray[np.uint8], scores: NDArray[np.float64] | None = None,
            share: Callable[[int, int], object] | None = None, *, rate: float = 1e-3) -> tuple[NDArray[np.int32], int]:
        """Add, and"""

    @property
    def size(self) -> int:
        """A size."""

    @property
    def nodes(self) -> int: ...

    @property
    def tokens(self) -> int: ...

    @property
    def trie(self) -> Trie | None: ...

    @property
    def scheme(self) -> Scheme: ...
'''


def test_a_stub_has_the_signatures_of_its_kernel() -> None:
    made = make_stubs.stub(KERNEL_STUBS_SOURCE, DECLARATIONS)
    assert ast.unparse(ast.parse(made)) == ast.unparse(ast.parse(make_stubs.HEADER + STUB))


@pytest.mark.parametrize(
    ("signature", "why"), [("def f(x) -> int:\n", "x: a parameter"), ("def f(int x):\n", "f: a result")]
)
def test_every_parameter_and_result_has_a_type(signature: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make_stubs.stub(signature)


@pytest.mark.parametrize("module", sorted(path.stem for path in KERNELS.glob("*.pyx")))
def test_stubs_have_the_names_of_compiled_modules(module: str) -> None:
    compiled = importlib.import_module(f"tokbench.kernels.{module}")
    for node in ast.parse((KERNELS / f"{module}.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            parameters = [each.arg for each in [*node.args.args, *node.args.kwonlyargs]]
            assert parameters == [*inspect.signature(getattr(compiled, node.name)).parameters]
        elif isinstance(node, ast.ClassDef):
            names = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            assert names <= {*dir(getattr(compiled, node.name))}
