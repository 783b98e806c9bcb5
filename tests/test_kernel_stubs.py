"""Stubs of the kernels are made from their signatures."""

import ast
import importlib
import inspect

import pytest

from tests.conftest import tool_of
from tests.support.workflow.checkout import ROOT

KERNELS = ROOT / "src" / "tokbench" / "kernels"
make_stubs = tool_of("make_stubs")

SOURCE = '''
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
    made = make_stubs.stub(SOURCE, DECLARATIONS)
    assert ast.unparse(ast.parse(made)) == ast.unparse(ast.parse(make_stubs.HEADER + STUB))


@pytest.mark.parametrize(
    ("signature", "why"), [("def f(x) -> int:\n", "x: a parameter"), ("def f(int x):\n", "f: a result")]
)
def test_every_parameter_and_result_has_a_type(signature: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make_stubs.stub(signature)


@pytest.mark.parametrize("module", sorted(path.stem for path in KERNELS.glob("*.pyx")))
def test_stubs_name_what_is_compiled(module: str) -> None:
    compiled = importlib.import_module(f"tokbench.kernels.{module}")
    for node in ast.parse((KERNELS / f"{module}.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            parameters = [each.arg for each in [*node.args.args, *node.args.kwonlyargs]]
            assert parameters == [*inspect.signature(getattr(compiled, node.name)).parameters]
        elif isinstance(node, ast.ClassDef):
            names = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            assert names <= {*dir(getattr(compiled, node.name))}
