"""What may fail in the kernels can say so: their sources, read for functions that cannot raise and yet may have to."""

import re
from pathlib import Path

import pytest

from tests.support.workflow.checkout import ROOT
from tokbench import kernels

SOURCES = sorted(path for path in Path(kernels.__path__[0]).iterdir() if path.suffix in {".pyx", ".pxd"})
HEAD = re.compile(r"^( *)(?:cdef|cpdef)\b(?!.*\b(?:class|enum|struct|extern)\b)[^\n(=]*?\b(\w+)\(", re.MULTILINE)
ALLOCATING = re.compile(
    r"\.(?:push|push_back|resize|reserve|assign|insert|emplace|emplace_back|append|shrink_to_fit)\("
    r"|\b(?:PyMem_\w*)?(?:[Mm]alloc|[Rr]ealloc|[Cc]alloc)\(|\bnew\s+\w+|\braise\b"
)
CIMPORTED = re.compile(r"^from tokbench\.kernels\.(\w+) cimport ([^\n]*)$", re.MULTILINE)
MAP = re.compile(r"\b(?:unordered_)?map\[[^\n]*\][ &*]*\b(\w+)\s*$", re.MULTILINE)


def functions(source: str) -> list[tuple[str, str, str]]:
    """Name, end of the signature and body of each C function; what is only declared has no body."""
    found = []
    for head in HEAD.finditer(source):
        depth, place = 1, head.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(source[place], 0)
            place += 1
        rest, _, below = source[place:].partition("\n")
        if not rest.split("#")[0].rstrip().endswith(":"):
            found.append((head[2], rest, ""))
            continue
        inside = re.compile(rf"(?:(?:{head[1]} +[^\n]*)?\n)*")
        body = inside.match(below)
        found.append((head[2], rest, body[0] if body else ""))
    return found


def code_of(body: str) -> str:
    """Without its strings and comments."""
    return re.sub(r'"""(?s:.*?)"""|"[^"\n]*"|#[^\n]*', "", body)


def raising_in(source: str) -> set[str]:
    return {name for name, rest, _ in functions(source) if "noexcept" not in rest}


def faults(source: str) -> list[str]:
    """What functions without an exception value do that may fail, in their own file or in one that they name."""
    found = functions(source)
    raising = raising_in(source)
    for module, names in CIMPORTED.findall(source):
        declared = Path(kernels.__path__[0], f"{module}.pxd").read_text(encoding="utf-8")
        raising |= raising_in(declared) & set(re.findall(r"\w+", names))
    maps = [re.compile(rf"\b{name}\[") for name in set(MAP.findall(code_of(source)))]
    wrong = []
    for name, rest, body in found:
        if "noexcept" in rest:
            code = code_of(body)
            doubtful = [match[0] for match in ALLOCATING.finditer(code)]
            doubtful += [match[0] for element in maps for match in element.finditer(code)]
            doubtful += [match[0] for match in re.finditer(r"\b(\w+)\(", code) if match[1] in raising - {name}]
            wrong += [f"{name}: {part}" for part in doubtful]
    return wrong


def test_sources_are_read() -> None:
    """The reader finds what it is made to find, and no more."""
    assert len(SOURCES) > 40
    source = """
from tokbench.kernels.segmenter cimport Scratch, place_of, release, reserve

cdef int grow(vector[int] &held) except -1 nogil:
    held.push_back(1)
    return 0

cdef class Table:
    cdef unordered_map[uint64_t, int32_t] known

    cdef inline int64_t look(self, uint64_t key, int (*order)(int)) noexcept nogil:
        # a comment on push_back(1)
        return self.known[key]

    cdef void fill(
        self, vector[int] &held
    ) noexcept nogil:
        grow(held)

        held.resize(3)

    cdef int size(self) noexcept nogil:
        return self.held.size()

cdef void* room(size_t bytes) noexcept nogil:
    return PyMem_RawMalloc(bytes)

cdef void* place(Scratch* scratch, size_t bytes) noexcept nogil:
    release(scratch)
    return reserve(scratch, bytes)
"""
    assert faults(source) == [
        *("look: known[", "fill: .resize(", "fill: grow(", "room: PyMem_RawMalloc(", "place: reserve("),
    ]
    assert [name for name, _, _ in functions(source)] == ["grow", "look", "fill", "size", "room", "place"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_what_may_fail_can_raise(path: Path) -> None:
    assert not faults(path.read_text(encoding="utf-8"))


def test_sanitizers_see_every_test_of_a_kernel() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    variables = {name: value.split() for name, value in re.findall(r"^(OF_\w+) := (.*)$", makefile, re.MULTILINE)}
    tests = {path.stem.removeprefix("test_"): path.read_text(encoding="utf-8") for path in ROOT.glob("tests/test_*.py")}
    direct = {
        name for name, text in tests.items() if re.search(r"^(?:from|import) tokbench\.kernels", text, re.MULTILINE)
    }
    assert direct - {*variables["OF_KERNELS"]} == {"failing_allocations"}, "its allocator is not the sanitizers'"
    assert tests.keys() >= {*variables["OF_KERNELS"]}
    for left_out in variables["OF_MEMORY"]:
        file, _, name = left_out.partition(".py::")
        assert f"def {name}(" in tests[file]
