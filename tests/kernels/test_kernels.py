"""Fallible kernel functions can raise: their sources, read for functions that cannot raise and yet may have to.

Numbers beyond the range of kernels are rejected before use; a failure leaves no partial result.

Each allocation of the kernels fails in its turn: the call raises, or its result is the same.
"""

import ctypes
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench.kernels
from tests.support.workflow.checkout import ROOT
from tokbench import kernels
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.kernels import bpe, ids, matches, picky, wordpiece
from tokbench.kernels.count import Counter
from tokbench.kernels.cover import CoverSegmenter
from tokbench.kernels.events import EventSegmenter
from tokbench.kernels.likelihood import LikelihoodSegmenter
from tokbench.kernels.shared_runs import RunTable
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import merge_counts
from tokbench.pretokens.files import read_word_list
from tokbench.reference.ngram import shared_bytes
from tokbench.vocabulary import BYTES, Vocabulary

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
    """Return fallible calls in functions without an exception value, in their file or in one that they name."""
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
def test_fallible_kernel_functions_declare_exceptions(path: Path) -> None:
    assert not faults(path.read_text(encoding="utf-8"))


def test_sanitizers_see_every_test_of_a_kernel() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    variables = {name: value.split() for name, value in re.findall(r"^(OF_\w+) := (.*)$", makefile, re.MULTILINE)}
    tests = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py")}
    direct = {
        name for name, text in tests.items() if re.search(r"^(?:from|import) tokbench\.kernels", text, re.MULTILINE)
    }
    named = {name for name in tests if name.startswith(tuple(variables["OF_KERNELS"]))}
    assert direct - named == {"tests/test_rooms.py"}, "which quotes such imports"
    assert all((ROOT / name).exists() for name in variables["OF_KERNELS"])
    for left_out in variables["OF_MEMORY"]:
        file, _, name = left_out.partition("::")
        assert f"def {name}(" in tests[f"tests/{file}"]


MOST = 2**62
TOO_MUCH = r"the counts, each times the bytes of its pre-token and one, add up past 2\^62"
WORDS = PretokenCounts.from_pairs([(b"abab", 7), (b"cab", 5), (b"bcb", 4)])


def trie(*more: bytes, backwards: bool = False) -> Trie:
    return Trie(*Vocabulary(BYTES + more).flat(), backwards=backwards)


# Counts


def test_the_largest_counts() -> None:
    """Twice a third of 2^62 is rejected however it comes together; a third is counted."""
    assert PretokenCounts.from_pairs([(b"ab", MOST // 3)]).total == MOST // 3
    for pairs in (
        [(b"ab", MOST // 3 + 1)],
        [(b"ab", MOST // 6 + 1)] * 2,
        [(b"ab", 2**63 - 1)],
        [(b"a", MOST // 2), (b"", 1), (b"b", 1)],
    ):
        with pytest.raises(OverflowError, match=TOO_MUCH):
            PretokenCounts.from_pairs(pairs)


@pytest.mark.parametrize("method", ["bpe", "wordpiece", "picky_bpe"])
def test_the_most_frequent_pair_among_the_largest_counts(method: str) -> None:
    """Pair counts that would leave 63 bits were the counts but a little larger."""
    construction = constructions[method]
    counts = PretokenCounts.from_pairs([(b"abab", MOST // 8), (b"cdcd", MOST // 16)])
    least = construction.alphabet
    assert construction.function(counts, least + 1, construction.options(), seed=0, threads=1).tokens[-1] == b"ab"


def test_files_whose_counts_add_up_to_too_much(tmp_path: Path) -> None:
    table, lines, words, numbers = (tmp_path / name for name in ("a.parquet", "a.tsv", "words", "numbers"))
    pq.write_table(pa.table({"pretoken": [b"ab", b"c"], "count": [MOST // 3, 1]}), table)
    lines.write_text(f"6162\t{MOST // 3}\n63\t1\n")
    words.write_text("ab c")
    numbers.write_text(f"{MOST // 3}\n1\n")
    for path, read in ((table, PretokenCounts.read), (lines, PretokenCounts.read), (numbers, None)):
        with pytest.raises(TokbenchError, match=f"^{path}: .*{TOO_MUCH}"):
            read(path) if read else read_word_list(words, path)


def test_parts_whose_counts_add_up_to_too_much() -> None:
    with pytest.raises(TokbenchError, match=f"^part 2: with the parts before it, {TOO_MUCH}"):
        merge_counts([PretokenCounts.from_pairs([(b"ab", MOST // 4)])] * 2)


def test_a_counter_that_failed() -> None:
    data, offsets = np.frombuffer(b"abcd", np.uint8), np.array([0, 2, 4], np.int64)
    counter = Counter()
    with pytest.raises(OverflowError):
        counter.add_pretokens(data, offsets, np.array([1, MOST], np.int64))
    for act in (lambda: counter.add(b"ab"), lambda: counter.add_pretokens(data, offsets), counter.counts):
        with pytest.raises(RuntimeError, match="counting failed before"):
            act()


@pytest.mark.parametrize(
    ("offsets", "counts"), [([0, 3, 2], [1, 1]), ([0, 5], [1]), ([-1, 2], [1]), ([0, 2], [-1]), ([0, 2, 4], [1])]
)
def test_a_counter_given_wrong_arrays(offsets: list[int], counts: list[int]) -> None:
    counter = Counter()
    with pytest.raises(ValueError, match=r"pre-token"):
        counter.add_pretokens(np.frombuffer(b"abcd", np.uint8), np.array(offsets, np.int64), np.array(counts, np.int64))
    counter.add(b"ab")
    assert counter.counts()[2].tolist() == [1]


# Sizes


@pytest.mark.parametrize(
    ("method", "options"),
    [("bpe", {}), ("wordpiece", {}), ("wordpiece", {"objective": "likelihood"}), ("picky_bpe", {})],
)
def test_largest_possible_size_gives_the_tokens_that_the_text_yields(method: str, options: dict[str, Any]) -> None:
    """The largest vocabulary that can be asked for takes no more than the text has tokens."""
    construction = constructions[method]
    sizes = (2000, 2**31 - 1)
    found = [construction.function(WORDS, size, construction.options(**options), seed=0, threads=1) for size in sizes]
    assert found[0].tokens == found[1].tokens


def test_sizes_beyond_32_bits() -> None:
    text, ranks, lengths = np.zeros(2, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64)
    words = np.array([0, 2], np.int64), np.ones(1, np.int64)
    for train in (
        lambda: bpe.train(text, *words, ranks, lengths, 2**31, 1, 9),
        lambda: wordpiece.train(text, *words, ranks, 2**31, 1, 9),
        lambda: picky.Training(text, *words, ranks, 1.0).run(2**31),
    ):
        with pytest.raises(OverflowError, match=r"2147483648 .*, more than the 2147483647 that int32 can number"):
            train()


# What would be read or written past an end


def test_tables_too_short_for_the_ids() -> None:
    with pytest.raises(ValueError, match="token 256 has no finite score"):
        LikelihoodSegmenter(trie(b"ab", backwards=True), np.zeros(256))
    with pytest.raises(ValueError, match="token 256 has no finite score"):
        LikelihoodSegmenter(trie(b"ab", backwards=True), np.array([0.0] * 256 + [np.nan]))
    with pytest.raises(ValueError, match="256 lengths for 257 tokens"):
        CoverSegmenter(trie(b"ab"), np.ones(256, np.int32))
    for last, tokens in ((1, 256), (2, 257)):
        with pytest.raises(ValueError, match=r"no pre-tokens|ids below"):
            matches.count_matches(
                trie(b"ab"), np.zeros(2, np.uint8), np.array([0, 2], np.int64), np.ones(1, np.int64), 0, last, tokens
            )
    data, starts = Vocabulary(BYTES).flat()
    with pytest.raises(IndexError, match="id 256 is not the index of a token"):
        ids.joined(np.array([256], np.int64), data, starts[:-1].copy(), np.ones(256, np.int32))
    with pytest.raises(ValueError, match="257 starts for 256 tokens"):
        ids.joined(np.array([0], np.int64), data, starts, np.ones(256, np.int32))
    with pytest.raises(ValueError, match="id -1 is negative"):
        ids.decimals(np.array([-1], np.int32))


@pytest.mark.parametrize(
    ("token", "removes", "parts", "message"),
    [
        (256, True, [256], "fewer than two parts"),
        (256, False, [97, 98, 99], "merges other than two parts"),
        (256, True, [97, 98, 99], "not as long as its token"),
        (256, False, [97, 257], "id 257 is not one of 257 tokens"),
    ],
)
def test_histories_that_would_not_end_or_write_past_the_text(
    token: int, removes: bool, parts: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        EventSegmenter(
            *(trie(b"ab"), np.arange(256), [256, token], [False, removes], [0, 2, 2 + len(parts)], [97, 98, *parts]),
            *(np.array([1] * 256 + [2]), np.ones(65536)),
        )


def test_nothing_without_its_tables() -> None:
    with pytest.raises(TypeError):
        Trie.__new__(Trie)


# Reuse


def in_a_child(act: Callable[[], bool]) -> bool:
    """Return whether ``act`` is true in a separate process."""
    child = os.fork()
    if not child:
        status = 2
        try:
            status = int(not act())
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def take_all_but_small_pieces() -> None:
    """End large allocations from here on, those too that fit what this process has freed and keeps."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), resource.RLIM_INFINITY))
    allocate = ctypes.CDLL(None).malloc
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    while allocate(1 << 18):
        pass


def test_a_run_that_failed_is_not_continued() -> None:
    text = np.random.default_rng(0).integers(0, 256, 400_000).astype(np.int32)
    words = np.array([0, len(text)], np.int64), np.ones(1, np.int64)
    training = picky.Training(text, *words, np.arange(256), 0.5)

    def fails_once_and_for_all() -> bool:
        take_all_but_small_pieces()
        try:
            training.run(300_000)
        except MemoryError:
            told = 0
            for act in (lambda: training.run(300), training.history, training.state):
                try:
                    act()
                except RuntimeError as error:
                    told += "failed before" in str(error)
            return told == 3
        return False

    assert in_a_child(fails_once_and_for_all)
    training.run(300)
    assert training.state()[0].sum() == 300


Told = dict[str, list[dict[str, Any]]]
"""Return the message of each case, line by line."""
KERNELS = Path(tokbench.kernels.__file__).parent
ALLOCATORS = (b"\0_Znwm\0", b"\0PyMem_RawMalloc\0", b"\0PyMem_RawRealloc\0")
"""Symbols that a kernel asks for which allocates by itself; ``malloc`` is asked for by all, for views never copied."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return the message of each case."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a compiler of C++ and the loader of Linux")
    library = tmp_path_factory.mktemp("allocations") / "allocations.so"
    source = Path(__file__).with_name("allocations.cpp")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.kernel_calls", library],
        env=os.environ | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    cases: Told = {}
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        if "case" in said:
            cases[said["case"]] = []
        else:
            cases[list(cases)[-1]].append(said)
    return cases


def test_no_failed_allocation_is_swallowed(told: Told) -> None:
    wrong = {}
    for case, said in told.items():
        places = [entry["failing"] for entry in said if "failing" in entry]
        found = [entry["wrong"] for entry in said if "wrong" in entry]
        if found:
            wrong[case] = (f"{len(found)} of {len(places)}", found[0], places[-1])
    assert wrong == {}
    assert sum(entry.get("rejected", 0) for said in told.values() for entry in said) > 1000


def test_every_kernel_that_allocates_is_walked(told: Told) -> None:
    allocate = {
        path.name.partition(".")[0]
        for path in KERNELS.glob("*.so")
        if any(symbol in path.read_bytes() for symbol in ALLOCATORS)
    }
    walked = {kernel for said in told.values() for entry in said for kernel in entry.get("kernels", [])}
    assert allocate - walked == set()


TEXTS = st.lists(st.lists(st.sampled_from([b"a", b"b", b"\0", b"ab"]), max_size=12).map(b"".join), max_size=5)


@given(TEXTS, st.lists(TEXTS, max_size=2), st.integers(1, 6))
def test_shared_runs_are_the_reference(texts: list[bytes], splits: list[list[bytes]], length: int) -> None:
    """Of each split in turn: the marks of the one before it are gone."""
    offsets = np.append(0, np.cumsum([len(text) for text in texts], dtype=np.int64))
    table = RunTable(np.frombuffer(b"".join(texts), np.uint8), offsets.astype(np.int64), length)
    for others in splits:
        for other in others:
            table.mark(np.frombuffer(other, np.uint8))
        assert table.shared_bytes().tolist() == shared_bytes(texts, others, length)
