"""Damaged files of every kind: each is read rightly, or rejected in one line that names it.

Bytes are changed, cut out and put in, values of JSON exchanged for others, and whole files replaced by noise. The
number of damaged files that every reader is given is ``TOKBENCH_FUZZ_FILES``, a few dozen where it is not set;
``make nightly`` sets thousands.
"""

import json
import os
import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.file_readers import READERS, Reader
from tokbench.errors import TokbenchError

FILES = int(os.environ.get("TOKBENCH_FUZZ_FILES", "25"))
MEMORY = 1 << 19
"""Kilobytes by which the process may grow while it reads all the small files of one reader."""
ARROW_PAGE = 1 << 21
"""Kilobytes of the largest page: Arrow allocates the size in a page's head before it reads the page."""

BYTES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [b"\0", b"\n", b'"', b"{" * 300, b"[" * 5000, b"-1", b"1e999", b"NaN", b"9" * 5000, b"\xff\xff\xff\x7f"]
    ),
)
DAMAGE = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), BYTES), min_size=1, max_size=4)
"""Where, how many bytes are taken out there, and what is put in their place."""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0, -1, 2**31, 2**63, 10**400])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\n", "../x", "a" * 5000, "\ud800", "merge", "\x1b[31m"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
quickly = settings(
    max_examples=FILES, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def damaged(data: bytes, damage: list[tuple[float, int, bytes]]) -> bytes:
    changed = bytearray(data)
    for place, size, new in damage:
        start = int(place * len(changed))
        changed[start : start + size] = new
    return bytes(changed)


def check(reader: Reader, folder: Path, content: bytes) -> None:
    """Read a file of this content."""
    file = folder / reader.file
    file.write_bytes(content)
    told = ""
    try:
        reader.read(folder)
    except TokbenchError as error:
        told = str(error)
    lines = told.splitlines()
    assert all(str(folder) in line for line in lines), told
    assert len(lines) < 2 or reader.file == "config.yaml", told  # a configuration has one line for each mistake


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    return READERS[request.param]


def test_valid_files_are_read(reader: Reader, tmp_path: Path) -> None:
    reader.make(tmp_path)
    reader.read(tmp_path)


def test_damaged_files(reader: Reader, tmp_path: Path) -> None:
    reader.make(tmp_path)
    whole = (tmp_path / reader.file).read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @quickly
    @given(DAMAGE)
    def change(damage: list[tuple[float, int, bytes]]) -> None:
        check(reader, tmp_path, damaged(whole, damage))

    @quickly
    @given(st.binary(max_size=200), st.integers(0, 16))
    def replace(noise: bytes, kept: int) -> None:
        check(reader, tmp_path, whole[:kept] + noise)

    change()
    replace()
    page = ARROW_PAGE if reader.file.endswith(".parquet") else 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY + page


@pytest.mark.parametrize(
    "name",
    [
        *("shard", "documents", "byte scores", "a shard's tokens", "counts of tokens"),
        *(name for name in READERS if name.startswith("part of a corpus")),
    ],
)
def test_a_damaged_file_is_rejected_or_says_what_it_said(name: str, tmp_path: Path) -> None:
    """Arrow takes a page whose head is damaged for none of the table's, and finds no rows."""
    reader = READERS[name]
    reader.make(tmp_path)
    file = tmp_path / reader.file
    content, wanted = file.read_bytes(), repr(reader.read(tmp_path))

    @quickly
    @example([(0.0, 2, b"")])
    @example([(0.0, 4, b"PAR1PA")])
    @given(DAMAGE)
    def change(damage: list[tuple[float, int, bytes]]) -> None:
        file.write_bytes(damaged(content, damage))
        try:
            found = repr(reader.read(tmp_path))
        except TokbenchError:
            return
        assert found == wanted

    change()


def test_names_of_columns_are_told_on_one_line(tmp_path: Path) -> None:
    reader = READERS["Parquet"]
    pq.write_table(pa.table({"te\nxt": ["a"], "b" * 900: ["c"]}), tmp_path / reader.file)
    with pytest.raises(TokbenchError, match=r"no column '\w+' \(there are te\\nxt, b+\.\.\.\)$") as told:
        reader.read(tmp_path)
    assert len(str(told.value)) < 400 + len(str(tmp_path))


@pytest.mark.parametrize(
    "name", [name for name, reader in READERS.items() if reader.file.endswith((".json", ".jsonl"))]
)
def test_values_of_other_types(name: str, tmp_path: Path) -> None:
    """Every value in turn, and every key left out."""
    reader = READERS[name]
    reader.make(tmp_path)
    first, *rest = (tmp_path / reader.file).read_bytes().split(b"\n\n")
    whole = json.loads(first)

    @quickly
    @given(st.data(), VALUES)
    def exchange(data: st.DataObject, value: Any) -> None:
        changed = json.loads(json.dumps(whole))
        inside = [changed]
        while (keys := _keys(inside[-1])) and (len(inside) == 1 or data.draw(st.booleans())):
            key = data.draw(st.sampled_from(keys))
            inside.append(inside[-1][key])
        if data.draw(st.booleans()):
            inside[-2][key] = value
        else:
            del inside[-2][key]
        check(reader, tmp_path, b"\n".join([json.dumps(changed).encode(), *rest]))

    exchange()


def _keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []


@pytest.mark.parametrize("name", [name for name in READERS if not name.startswith("ids")])
def test_folders_in_place_of_files(name: str, tmp_path: Path) -> None:
    """Of ids the command line itself opens the file."""
    reader = READERS[name]
    reader.make(tmp_path)
    file = tmp_path / reader.file
    file.unlink()
    file.mkdir()
    with pytest.raises(TokbenchError) as caught:
        reader.read(tmp_path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
