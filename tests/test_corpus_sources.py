"""Every kind of source of a corpus: files, rows, the embedded one, the hub's, and languages of each."""

import hashlib
import io
import json
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ODD, write_json_lines
from tests.support.corpus_sources import WRAPPERS, rejected, texts
from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import EmbeddedSource, HubSource, JsonLinesSource, ParquetSource, TextSource


def test_embedded_corpus_is_always_the_same_and_imports_nothing() -> None:
    found = list(embedded_texts())
    assert 1_500_000 < sum(map(len, found)) < 3_500_000
    assert len(found) > 400
    assert all(text.decode() for text in found)
    code = (
        "import hashlib, sys; from tokbench.corpus.embedded import embedded_texts\n"
        "print(hashlib.sha256(b'|'.join(embedded_texts())).hexdigest())\n"
        "assert {'this', 'antigravity', 'tkinter', 'turtle'}.isdisjoint(sys.modules)\n"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert elsewhere.stdout.strip() == hashlib.sha256(b"|".join(found)).hexdigest()


@pytest.mark.parametrize("ending", WRAPPERS)
def test_text(ending: str, tmp_path: Path) -> None:
    raw = b"one\ntwo\n\n\n" + ODD + b"\n\n\nlast line without an end"
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(WRAPPERS[ending](raw))
    for documents in ("file", "paragraph", "line"):
        found = texts(TextSource(type="text", path=[str(path)], documents=documents, encoding="bytes"))
        assert b"".join(found) == (raw if documents != "line" else re.sub(rb"(?<=\n)\s*\n", b"", raw))
    assert texts(TextSource(type="text", path=[str(path)], encoding="bytes")) == [raw]
    lines = texts(TextSource(type="text", path=[str(path)], documents="line", encoding="bytes"))
    assert lines == [line for line in io.BytesIO(raw) if line.strip()]
    paragraphs = texts(TextSource(type="text", path=[str(path)], documents="paragraph", encoding="bytes"))
    assert paragraphs[0] == b"one\ntwo\n\n"


@pytest.mark.parametrize("ending", WRAPPERS)
def test_json_lines(ending: str, tmp_path: Path) -> None:
    rows = [{"text": "naïve 🦀", "language": "fr"}, {"text": ""}, {"text": "\ud800", "language": None}]
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode() + b"\n"
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(WRAPPERS[ending](raw))
    documents = list(read_source(JsonLinesSource(type="jsonl", path=[str(path)], language="en")))
    assert documents == [
        Document(0, "fr", "naïve 🦀".encode()),
        Document(1, "en", b""),
        Document(2, "en", b"\xed\xa0\x80"),
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_parquet(kind: pa.DataType, tmp_path: Path) -> None:
    values = ["naïve", "", "a"] if pa.types.is_string(kind) or pa.types.is_large_string(kind) else [ODD, b"", b"a"]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"content": pa.array(values, kind), "tongue": ["fr", None, "de"]}), path)
    source = ParquetSource(type="parquet", path=[str(path)], text_field="content", language_field="tongue")
    documents = list(read_source(source))
    assert [document.text for document in documents] == ["naïve".encode() if values[0] == "naïve" else ODD, b"", b"a"]
    assert [document.language for document in documents] == ["fr", "", "de"]


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md", "d.rst", "inner/e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def read(*path: str) -> list[bytes]:
        return texts(TextSource(type="text", path=[str(tmp_path / part) for part in path]))

    assert read(".") == [b"a.txt", b"b.txt", b"c.md", b"inner/e.txt"]
    assert read("*.txt") == [b"a.txt", b"b.txt"]
    assert read("**/*.txt") == [b"a.txt", b"b.txt", b"inner/e.txt"]
    assert read("d.rst", "a.txt") == [b"d.rst", b"a.txt"]


def test_first_documents_only() -> None:
    assert texts(EmbeddedSource(type="embedded", max_documents=3)) == list(islice(embedded_texts(), 3))


def test_languages_of_files_and_units(tmp_path: Path) -> None:
    """A mapping of paths gives the tags; texts are cut into units."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n\nthree")
    rows = write_json_lines(
        tmp_path / "b.jsonl", [{"text": "eins\n\n\nzwei", "language": "x"}, {"text": "", "language": "y"}]
    )
    lines = TextSource(type="text", path={"en": str(tmp_path / "a.txt")}, documents="line")  # type: ignore[arg-type, dict-item]
    assert [(item.language, item.text) for item in read_source(lines)] == [
        ("en", text) for text in (b"one\n", b"two\n", b"three")
    ]
    parts = JsonLinesSource(type="jsonl", path={"de": [str(rows)]}, documents="paragraph")
    found = [(item.language, item.text) for item in read_source(parts)]
    assert found == [("de", b"eins\n\n"), ("de", b"\nzwei")]
    own = JsonLinesSource(type="jsonl", path=[str(rows)])
    assert [item.language for item in read_source(own)] == ["x", "y"]


def test_limits_by_language(tmp_path: Path) -> None:
    rows = [{"text": "abcd", "language": language} for language in "xyxzyxyz"]
    path = [str(write_json_lines(tmp_path / "rows.jsonl", rows))]
    few = JsonLinesSource(type="jsonl", path=path, max_bytes_per_language=5, languages=["x", "y"])
    assert [(item.document, item.language) for item in read_source(few)] == [(0, "x"), (1, "y"), (2, "x"), (3, "y")]
    one = JsonLinesSource(type="jsonl", path=path, max_bytes_per_language=1, max_documents=2)
    assert [item.language for item in read_source(one)] == ["x", "y"]
    same = JsonLinesSource(
        type="jsonl", path=path, max_bytes_per_language=5, languages=["x", "y"], rename_languages={"z": "x", "x": "y"}
    )
    assert [(item.document, item.language) for item in read_source(same)] == [(0, "y"), (1, "y"), (2, "x"), (3, "x")]


def test_hub_corpus_needs_no_network_before_it_is_fetched() -> None:
    source = HubSource(type="hub", dataset="someone/something", revision="0" * 40)
    assert rejected(source) == "a corpus of type 'hub' must be fetched before it is read"


def test_fetching_without_a_network(tmp_path: Path) -> None:
    recipe = json.dumps({"type": "hub", "dataset": "someone/something", "revision": "0" * 40})
    output = tmp_path / "fetched.parquet"
    call = f"from tokbench.commands.main import main; main(['fetch', '--recipe', {recipe!r}, '-o', {str(output)!r}])"
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run([sys.executable, "-c", call], env=offline, capture_output=True, text=True)
    assert ended.returncode == 2
    line = ended.stderr.splitlines()[-1]
    assert line.startswith("tokbench: someone/something at 00000000: cannot be fetched (")
    assert "Traceback" not in ended.stderr
    assert not output.exists()
