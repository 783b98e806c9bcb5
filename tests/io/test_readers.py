"""Damaged files of every kind: each is read correctly, or rejected in one line that names it.

Bytes are changed, cut out and put in, values of JSON exchanged for others, and complete files replaced by noise. The
number of damaged files that every reader is given is ``TOKBENCH_FUZZ_FILES``, a few dozen where it is not set;
``make nightly`` sets thousands.

Wrong input ends in one clear line, status 2, nothing on standard output and no output file.
"""

import gzip
import json
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import EXPERIMENT, Outcome, Tokbench
from tests.support.file_readers import READERS, Reader
from tests.support.wrong_commands import COMMANDS, NUMBERS, WHOLE_OPTIONS
from tests.support.wrong_configurations import TEXTS, VALUES, Pieces, changed
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

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
"""Place, number of removed bytes, and their replacement."""
READERS_VALUES = st.recursive(
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
def test_damaged_file_is_rejected_or_reads_unchanged(name: str, tmp_path: Path) -> None:
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


def test_column_names_in_errors_are_on_one_line(tmp_path: Path) -> None:
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
    @given(st.data(), READERS_VALUES)
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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, counts: PretokenCounts, scores: Path) -> Path:
    """Folder of files that are what they say, and of others that are not."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "folder").mkdir()
    for name, size in (("tokenizer", 300), ("other", 310)):
        (folder / name).mkdir()
        origin = {"construction": {"method": "bpe"}, "requested_size": size}
        Tokenizer(bpe(counts, size, BpeOptions()), "gpt2", "merge", origin=origin).save(folder / name)
    counts.write(folder / "counts.parquet")
    PretokenCounts.from_pairs([(b"a", 1)], "none").write(folder / "none.parquet")
    (folder / "none.tsv").write_text("61\t1\n")
    (folder / "scores.parquet").write_bytes(scores.read_bytes())
    texts = {
        "plain.txt": "some text",
        "ids.txt": "5 6",
        "large.txt": "9" * 20,
        "beyond.txt": "300",
        "negative.txt": "-1",
    }
    texts |= {"words.jsonl": '{"body": "a"}\n', "lists.jsonl": "[1]\n", "deep.jsonl": "[" * 100_000 + "\n"}
    texts |= {"rows.jsonl": '{"text": "a"}\n', "plain.jsonl.gz": "no gzip", "plain.txt.zst": "no zstd"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "cut.txt.gz").write_bytes(gzip.compress(bytes(range(256)) * 99)[:-20])
    pl.DataFrame({"text": ["a"]}).write_parquet(folder / "texts.parquet")
    pl.DataFrame({"text": [1]}).write_parquet(folder / "numbers.parquet")
    pl.DataFrame({"body": ["a"], "lang": ["en"]}).write_parquet(folder / "rows.parquet")
    (folder / "damaged.parquet").write_bytes((folder / "texts.parquet").read_bytes()[:-9])
    (folder / "tables").mkdir()
    (folder / "tables" / "intrinsic.parquet").write_bytes((folder / "damaged.parquet").read_bytes())
    np.save(folder / "reals.npy", np.array([0.5]))
    (folder / "cut.npy").write_bytes((folder / "reals.npy").read_bytes()[:20])
    (folder / "good.yaml").write_text(EXPERIMENT)
    for name, kind, file, more in (
        ("parquet", "parquet", "rows.parquet", {}),
        ("language", "parquet", "texts.parquet", {"language_field": "tongue"}),
        ("numbers", "parquet", "numbers.parquet", {}),
        ("damaged", "parquet", "damaged.parquet", {}),
        ("jsonl", "jsonl", "words.jsonl", {}),
    ):
        values = yaml.safe_load(EXPERIMENT)
        values["corpora"]["mine"] = {"source": {"type": kind, "path": str(folder / file), **more}}
        (folder / f"{name}.yaml").write_text(json.dumps(values))
    return folder


def rejected(outcome: Outcome, pieces: Pieces) -> None:
    assert outcome.status == 2, outcome.stderr
    assert outcome.stdout == b""
    [line] = outcome.stderr.splitlines()
    assert line.startswith("tokbench")
    assert "Traceback" not in line
    for piece in pieces:
        assert piece in line


@pytest.mark.parametrize("name", TEXTS)
def test_files_of_configuration(name: str, tmp_path: Path, tokbench: Tokbench) -> None:
    content, pieces = TEXTS[name]
    file = tmp_path / "mine.yaml"
    file.write_bytes(content)
    outcome = tokbench("validate", file)
    first, *others = outcome.stderr.splitlines()
    rejected(Outcome(outcome.status, outcome.stdout, first), (f"tokbench: {file}:", *pieces))
    assert all(line.startswith(f"{file}: ") for line in others)  # what the rest of the file lacks


@pytest.mark.parametrize(("path", "value", "pieces"), VALUES)
def test_values_of_keys(
    path: str, value: Any, pieces: Pieces, experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(experiment, path, value)))
    rejected(tokbench("validate", file), pieces)


def run(words: list[str], place: Path, tmp_path: Path, tokbench: Tokbench) -> Outcome:
    """Run a row of the table; nothing may be written where its output would go."""
    filled = [word.replace("@out", str(tmp_path / "out")).replace("@", f"{place}/") for word in words]
    outcome = tokbench(*filled)
    assert list(tmp_path.iterdir()) == []
    return outcome


@pytest.mark.parametrize(("line", "pieces"), COMMANDS)
def test_command_lines(line: str, pieces: Pieces, place: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    words = [word.replace("_'", " '").replace("'_", "' ").replace(":_", ": ") for word in line.split(" ")]
    rejected(run(words, place, tmp_path, tokbench), pieces)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("line", "option"), [(line, name) for line, names in WHOLE_OPTIONS.items() for name in names])
def test_invalid_integer_options_are_one_line_errors(
    line: str, option: str, number: str, place: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    rejected(run([*line.split(), option, number], place, tmp_path, tokbench), (f"'{option}'", NUMBERS[number]))
