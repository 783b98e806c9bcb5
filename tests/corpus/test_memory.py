"""Preparation of a corpus within a memory limit: equal files, a bounded peak, and a one-line error below it.

One-line errors for corpus files that cannot be read.
"""

import json
import os
import re
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.conftest import ODD, Tokbench, write_json_lines
from tests.support.corpora import WRAPPERS, rejected, texts
from tests.support.processes import MEGABYTE, contents, peak
from tokbench.corpus.documents import Document, read_findings, read_shard, schema
from tokbench.corpus.formats import jsonl
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.prepare import prepare, shard_paths
from tokbench.corpus.read import read_source
from tokbench.corpus.reading import REMEDY
from tokbench.corpus.shards import open_shards
from tokbench.corpus.splits import UNUSED, split_documents
from tokbench.errors import TokbenchError
from tokbench.runtime.memory_limit import MemoryLimit

GROUP = 700
"""Bytes of a row group where a test makes small ones."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a size for tests."""
    monkeypatch.setattr("tokbench.corpus.shards.GROUP_BYTES", GROUP)


def written_out(documents: Sequence[Document], path: Path) -> bytes:
    """A shard as it is defined: a row group is full with the document that brings it to its bytes."""
    with pq.ParquetWriter(path, schema(), compression="zstd", write_page_checksum=True) as writer:
        rows: list[Document] = []
        for document in [*documents, None]:
            if document is not None:
                rows.append(document)
            if document is None or sum(len(row.text) for row in rows) >= GROUP:
                columns = list(zip(*rows, strict=True)) or [(), (), ()]
                arrays = [pa.array(column, field.type) for column, field in zip(columns, schema(), strict=True)]
                writer.write_batch(pa.record_batch(arrays, schema=schema()))
                rows = []
    return path.read_bytes()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shards", [1, 3])
def test_shards_are_as_defined_written_alone_or_together(seed: int, shards: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    sizes = draw.choice([0, 1, 9, 90, 299, 300, 699, 700, 1500], draw.integers(0, 120))
    texts = [draw.integers(97, 123, size, np.uint8).tobytes() for size in sizes]
    documents = [Document(number, draw.choice(["", "en", "de-ä"]), text) for number, text in enumerate(texts)]
    expected = [written_out(documents[shard::shards], tmp_path / "shard") for shard in range(shards)]
    paths = shard_paths(tmp_path / "corpus", "tokenizer", shards)
    with open_shards(paths) as add:
        for number, document in enumerate(documents):
            add(document, number % shards)
    assert [path.read_bytes() for path in paths] == expected
    assert [path.name for path in (tmp_path / "corpus").iterdir()] == ["tokenizer"]


def test_a_shard_of_long_documents_has_plain_values(tmp_path: Path) -> None:
    paths = [tmp_path / "corpus" / split / "0000.parquet" for split in ("evaluation", "tokenizer")]
    document = Document(3, "en", b"a" * 5000)
    with open_shards(paths, plain={0}) as add:
        add(document, 0)
        add(document, 1)
    columns = [pq.ParquetFile(path).metadata.row_group(0).column(2) for path in paths]
    assert [column.has_dictionary_page for column in columns] == [False, True]
    assert [column.statistics is None for column in columns] == [True, False]
    assert [list(read_shard(path)) for path in paths] == [[document], [document]]


# Long lines


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "PIECE", 10)


def read(line: bytes, path: Path) -> list[Document] | str:
    path.write_bytes(line)
    try:
        return list(read_source(JsonLinesSource(type="jsonl", path=[str(path)])))
    except TokbenchError as error:
        return str(error)


LETTERS = st.sampled_from([*'ab \n\\"/{}:', "é", "’", "🦀", "\ud83e", "\udd80", "\x00"])
VALUES = st.lists(LETTERS, max_size=60).map("".join)
PARTS = st.sampled_from(
    [b'"', b"\\", b"u00e9", b"\\ud83e", b"\\udd80", b" ", b"text", b"a" * 9, b":", b"\xf0\x9f\xa6\x80", b"\xff"]
)


@pytest.mark.usefixtures("short_pieces")
@example({"text": "aa\ud83e🦀"}, True)
@given(st.dictionaries(st.sampled_from(["text", "language", "url", "x" * 20]), VALUES), st.booleans())
def test_long_lines_are_read_as_short_ones(
    tmp_path_factory: pytest.TempPathFactory, row: dict[str, str], escaped: bool
) -> None:
    line = json.dumps(row, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    same(line, tmp_path_factory)


@pytest.mark.usefixtures("short_pieces")
@given(st.lists(PARTS, max_size=40).map(b"".join))
def test_damaged_long_lines_have_the_errors_of_short_ones(
    tmp_path_factory: pytest.TempPathFactory, value: bytes
) -> None:
    same(b'{"text": "' + value + b'"}', tmp_path_factory)


def same(line: bytes, folders: pytest.TempPathFactory) -> None:
    path = folders.getbasetemp() / "line.jsonl"
    found = read(line, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "PIECE", 1 << 30)
        assert found == read(line, path)


# Splits


def test_splitting_as_many_languages_as_documents_is_fast() -> None:
    """Each language is gone through by itself: twice the languages are not four times the work."""
    number = 100_000
    splits = split_documents(np.ones(number, np.int64), {"tokenizer": 1.0}, 0, np.arange(number))
    assert (splits == 0).all()
    assert (split_documents([], {}, 0) == UNUSED).all()


# Through the command line


def test_many_shards_share_the_memory_that_is_allowed(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    words = [draw.integers(97, 123, size, np.uint8).tobytes() for size in draw.integers(2, 9, 5000)]
    text = tmp_path / "text.txt"
    with text.open("wb") as file:
        for _ in range(8):
            places = draw.integers(0, len(words), (1000, 300)).tolist()
            lines = [b" ".join(map(words.__getitem__, row)) for row in places]
            file.write((b"\n".join(lines) + b"\n") * 5)
    assert text.stat().st_size > 60 * MEGABYTE
    recipe = {"source": {"type": "text", "documents": "line"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}}
    made = []
    for allowed in (200, 2000):
        folder = tmp_path / str(allowed)
        call = ["prepare", "--recipe", json.dumps(recipe | {"shards": 150}), "--memory", allowed, "-o", folder, text]
        assert peak(*call) <= allowed * MEGABYTE
        made.append(contents(folder))
    assert len(made[0]) == 302
    assert made[0] == made[1]


def test_tiny_documents_are_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million documents take some bytes each and not some hundreds.

    Arrow's own allocators keep some 40 MB that they have freed, more or less by the time between two calls.
    """
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "system")
    recipe = {"source": {"type": "text", "documents": "line"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}}
    taken = []
    for number in (1000, 1_000_000):
        text = tmp_path / f"{number}.txt"
        text.write_bytes(b"a b\n" * number)
        taken.append(peak("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / f"corpus {number}", text))
    assert taken[1] - taken[0] < 150 * MEGABYTE


def test_ten_thousand_files_and_few_that_may_be_open(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(10_000):
        (texts / f"{number:05}.txt").write_bytes(b"%d\n" % number)
    recipe = {"source": {"type": "text"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "shards": 60}
    arguments = ["prepare", "--recipe", json.dumps(recipe), "-o", str(tmp_path / "corpus")]
    arguments += map(str, sorted(texts.iterdir()))
    (tmp_path / "arguments").write_bytes("\0".join([*arguments, ""]).encode())
    peak(f"@{tmp_path / 'arguments'}", files=40)
    read = sorted(
        document
        for split in ("tokenizer", "evaluation")
        for path in shard_paths(tmp_path / "corpus", split, 60)
        for document in read_shard(path)
    )
    assert read == [Document(number, "", b"%d\n" % number) for number in range(10_000)]


# What does not fit


def test_document_that_exceeds_memory_is_an_error_before_texts_are_sorted(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "text.txt").write_text("a b " * (4 * MEGABYTE))
    source = TextSource(type="text", path=[str(tmp_path / "text.txt")])
    expected = (
        r"--memory 100: a document of 16,000,000 bytes needs about 112 MB; allow that much, "
        r"or cut it into shorter ones \(longest_document\)"
    )
    with pytest.raises(TokbenchError, match=f"^{expected}$"):
        prepare(source, {"tokenizer": 1.0}, 0, 1, tmp_path / "corpus", allowed=MemoryLimit(100, 60 * MEGABYTE))
    corpus = ("-o", tmp_path / "corpus", tmp_path / "text.txt")
    message = tokbench("prepare", "--recipe", '{"source": "text"}', "--memory", 20, *corpus).message
    assert re.fullmatch(r"tokbench: --memory 20: too little for this command; allow it [\d,]+ MB or more", message)


def test_more_documents_than_there_is_memory_for(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\n" * 1001)
    source = TextSource(type="text", path=[str(path)], documents="line")
    with pytest.raises(TokbenchError, match="1,001 documents need more than the 1 MB of memory"):
        prepare(source, {"tokenizer": 1.0}, 0, 1, tmp_path / "corpus", allowed=MemoryLimit(1, 20_000))


def test_a_source_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.txt"
    source = TextSource(type="text", path=[str(path)], documents="line")
    for other in (b"a\nb\n", b"a\nb\nc\nd\n", b"a\nbb\nc\n"):
        path.write_bytes(b"a\nb\nc\n")

        def split(*arguments: Any, other: bytes = other) -> Any:
            path.write_bytes(other)
            return split_documents(*arguments)

        monkeypatch.setattr("tokbench.corpus.shuffle.split_documents", split)
        with pytest.raises(TokbenchError, match="the source changed while it was read"):
            prepare(source, {"tokenizer": 1.0}, 0, 1, tmp_path / "corpus")


@pytest.mark.parametrize("path", ["folder", "folder/*", "folder/a.txt/*"])
def test_folders_and_devices_are_not_read_as_text(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder" / "a.txt").mkdir(parents=True)
    os.mkfifo(tmp_path / "folder" / "b.txt")
    place = tmp_path / path
    expected = f"no file at '{place}'; name an existing file, folder or pattern"
    if path == "folder":
        expected = (
            f"no file of type 'text' in '{place}' (1 that is no file left out); name files, or a folder with files "
            "that end in .txt, .text, .md"
        )
    assert rejected(TextSource(type="text", path=[str(place)])) == expected


def test_a_pipe_is_not_an_empty_text(tmp_path: Path, tokbench: Tokbench) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    message = rejected(TextSource(type="text", path=[str(pipe)]))
    assert message == f"{pipe}: a pipe; write its output to a file, and name that"
    assert tokbench("count", "--scheme", "gpt2", "-o", tmp_path / "counts", pipe).message == f"tokbench: {message}"


def test_truncated_files(tmp_path: Path) -> None:
    raw = np.random.default_rng(0).integers(0, 256, 100_000, np.uint8).tobytes()
    for ending in (".gz", ".zst"):
        path = tmp_path / f"text.txt{ending}"
        path.write_bytes(WRAPPERS[ending](raw)[:-5000])
        message = rejected(TextSource(type="text", path=[str(path)]))
        assert message.startswith(f"{path}: cannot be read (")
        path.write_bytes(b"not compressed at all")
        assert rejected(TextSource(type="text", path=[str(path)])).startswith(f"{path}: cannot be read (")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('["text"]', "not a JSON object"),
        ("3", "not a JSON object"),
        ('{"text": 3}', "no text under 'text'"),
        ('{"text": null}', "no text under 'text'"),
    ],
)
def test_json_line_without_text_names_the_reason(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n\n' + line + "\n")
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == f"{path}:3: {reason}; {REMEDY}"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"text": ', "3:9: not JSON (Expecting value)"),
        ('{"text": "a"} {}', "3:15: not JSON (Extra data)"),
        ('{"text": "a", "text": "b"}', "3: the key 'text' is given twice in one object"),
        ('{"text": "a", "te\\u0078t": "b"}', "3: the key 'text' is given twice in one object"),
        ('{"text": "a", "language": 1, "language": 1}', "3: the key 'language' is given twice in one object"),
        ("[" * 100_000, "3: not JSON (byte 100001)"),
        ('{"text": "a", "language": ["en"]}', "3: the language under 'language' is not text"),
        ('{"text": "a", "language": "\\ud800"}', "3: the language under 'language' is not text"),
        ('{"text": "a", "language": ' + "9" * 5000 + "}", "3: the language under 'language' is not text"),
        ('{"text": ' + "9" * 5000 + "}", "3: no text under 'text'"),
    ],
)
def test_line_that_is_not_json(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n\n' + line + "\n")
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == f"{path}:{told}; {REMEDY}"


def test_empty_cells_are_no_documents(tmp_path: Path) -> None:
    """An empty text is a document, a cell without one is not."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", ""] * 200 + [None]}), path)
    expected = f"{path}: row 401: no text under 'text'; {REMEDY}"
    assert rejected(ParquetSource(type="parquet", path=[str(path)])) == expected


def test_strings_that_are_not_utf8(tmp_path: Path) -> None:
    """A text comes as its bytes; a language must be text, and is a bad record."""
    path = tmp_path / "rows.parquet"
    broken = pa.StringArray.from_buffers(1, pa.array([ODD]).buffers()[1], pa.array([ODD]).buffers()[2])
    pq.write_table(pa.table({"text": broken, "tag": broken}), path)
    assert texts(ParquetSource(type="parquet", path=[str(path)])) == [ODD]
    source = ParquetSource(type="parquet", path=[str(path)], language_field="tag")
    assert rejected(source).startswith(f"{path}: row 1: the language ")
    assert texts(source.model_copy(update={"bad_lines": "skip"})) == []


def test_changed_page(tmp_path: Path) -> None:
    """A shard's pages have checksums."""
    path = tmp_path / "0000.parquet"
    with open_shards([path]) as add:
        add(Document(0, "en", np.random.default_rng(0).bytes(5000)))
    data = bytearray(path.read_bytes())
    data[2500] ^= 1
    path.write_bytes(data)
    with pytest.raises(TokbenchError, match=r"not a readable corpus shard.*(checksum|CRC)"):
        list(read_shard(path))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("documents", ["file", "line"])
def test_text_that_grows_without_end(
    ending: str, documents: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file with huge decompressed content is rejected before memory runs out."""
    monkeypatch.setattr("tokbench.io.text_files.MOST", 1 << 22)
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(WRAPPERS[ending](b"a" * (1 << 26)))
    tracemalloc.start()
    message = rejected(TextSource(type="text", path=[str(path)], documents=documents))  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "4,194,304 bytes once decompressed" in message
    assert peak < 1 << 25


def test_bad_parquet(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"content": ["a"], "id": [1]}), path)
    source = ParquetSource(type="parquet", path=[str(path)])
    assert rejected(source) == f"{path}: no column 'text' (there are content, id)"
    assert rejected(source.model_copy(update={"text_field": "id"})).startswith(f"{path}: column 'id' has type int64")
    path.write_bytes(path.read_bytes()[:-20])
    assert rejected(source).startswith(f"{path}: not readable as Parquet (")


def test_rejection_through_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    path = write_json_lines(tmp_path / "rows.jsonl", [{"text": "a"}, {"body": "b"}])
    recipe = json.dumps({"source": "jsonl", "splits": {"tokenizer": 1.0}})
    message = tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "corpus", path).message
    assert message.startswith(
        f"tokbench: {path}:2: no field 'text' (found body); name another field (text_field, or --text-field), or skip"
    )
    assert not (tmp_path / "corpus").exists()


def test_a_damaged_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(TokbenchError, match=r"manifest\.json.*; prepare the corpus again$"):
        read_findings(tmp_path)
