"""Files of a corpus that cannot be read: what is said of them in one line."""

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ODD, Tokbench, write_json_lines
from tests.support.corpus_sources import WRAPPERS, rejected, texts
from tokbench.corpus.documents import Document, read_shard
from tokbench.corpus.json_rows import REMEDY
from tokbench.corpus.manifest import read_findings
from tokbench.corpus.shards import open_shards
from tokbench.corpus.sources import JsonLinesSource, ParquetSource, TextSource
from tokbench.errors import TokbenchError


@pytest.mark.parametrize("path", ["folder", "folder/*", "folder/a.txt/*"])
def test_what_is_no_file_is_no_text(path: str, tmp_path: Path) -> None:
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
    assert message == f"{pipe}: a pipe; write what comes through it to a file, and name that"
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


@pytest.mark.parametrize("line", ['{"txt": "a"}', '["text"]', '{"text": 3}', "3", '{"text": null}'])
def test_bad_json_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n\n' + line + "\n")
    expected = f"{path}:3: not a JSON object with a string under 'text'; {REMEDY}"
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == expected


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"text": ', "3:9: not JSON (Expecting value)"),
        ('{"text": "a"} {}', "3:15: not JSON (Extra data)"),
        ('{"text": "a", "text": "b"}', "3: the key 'text' is given twice in one object"),
        ('{"text": "a", "te\\u0078t": "b"}', "3: the key 'text' is given twice in one object"),
        ('{"text": "a", "language": 1, "language": 1}', "3: the key 'language' is given twice in one object"),
        ("[" * 100_000, "3: not JSON (byte 100001)"),
        ('{"text": "a", "language": ["en"]}', "3: the language under 'language' is no text"),
        ('{"text": "a", "language": "\\ud800"}', "3: the language under 'language' is no text"),
        ('{"text": "a", "language": ' + "9" * 5000 + "}", "3: the language under 'language' is no text"),
        ('{"text": ' + "9" * 5000 + "}", "3: not a JSON object with a string under 'text'"),
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
    expected = f"{path}: row 401 has no text in column 'text'; fill or drop it"
    assert rejected(ParquetSource(type="parquet", path=[str(path)])) == expected


def test_strings_that_are_not_utf8(tmp_path: Path) -> None:
    """A text comes as its bytes; a language must be text."""
    path = tmp_path / "rows.parquet"
    broken = pa.StringArray.from_buffers(1, pa.array([ODD]).buffers()[1], pa.array([ODD]).buffers()[2])
    pq.write_table(pa.table({"text": broken, "tag": broken}), path)
    assert texts(ParquetSource(type="parquet", path=[str(path)])) == [ODD]
    source = ParquetSource(type="parquet", path=[str(path)], language_field="tag")
    assert rejected(source).startswith(f"{path}: not readable as Parquet ('utf-8' codec")


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
    """What a small file can be decompressed to is rejected when it is too much, not when memory is out."""
    monkeypatch.setattr("tokbench.inputs.files.MOST", 1 << 22)
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
    assert rejected(source.model_copy(update={"text_field": "id"})).startswith(f"{path}: column 'id' holds int64")
    path.write_bytes(path.read_bytes()[:-20])
    assert rejected(source).startswith(f"{path}: not readable as Parquet (")


def test_rejection_through_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    path = write_json_lines(tmp_path / "rows.jsonl", [{"text": "a"}, {"body": "b"}])
    recipe = json.dumps({"source": "jsonl", "splits": {"tokenizer": 1.0}})
    message = tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "corpus", path).message
    assert message.startswith(f"tokbench: {path}:2: not a JSON object with a string under 'text'")
    assert not (tmp_path / "corpus").exists()


def test_a_damaged_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(TokbenchError, match=r"manifest\.json.*; prepare the corpus again$"):
        read_findings(tmp_path)
