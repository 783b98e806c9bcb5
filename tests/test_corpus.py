"""Corpora: every kind of source, splits by document, shards, and what is said of files that cannot be read."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ODD, Tokbench, write_json_lines
from tokbench.corpus.documents import Document, read_documents, read_shard
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.prepare import prepare, shard_paths
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import open_shards
from tokbench.corpus.sources import (
    EmbeddedSource,
    HubSource,
    JsonLinesSource,
    ParquetSource,
    Source,
    TextSource,
)
from tokbench.corpus.splits import UNUSED, _mix, split_documents
from tokbench.errors import TokbenchError

FRACTIONS = {"byte_lm": 0.2, "tokenizer": 0.4, "evaluation": 0.1, "pretraining": 0.25}
WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def texts(source: Source) -> list[bytes]:
    documents = list(read_source(source))
    assert [document.document for document in documents] == list(range(len(documents)))
    return [document.text for document in documents]


# Sources


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
        found = texts(TextSource(type="text", path=[str(path)], documents=documents))
        assert b"".join(found) == raw
    assert texts(TextSource(type="text", path=[str(path)])) == [raw]
    lines = texts(TextSource(type="text", path=[str(path)], documents="line"))
    assert lines == raw.splitlines(keepends=True) or lines == [line + b"\n" for line in raw.split(b"\n")[:-1]] + [
        raw.rpartition(b"\n")[2]
    ]
    assert texts(TextSource(type="text", path=[str(path)], documents="paragraph"))[0] == b"one\ntwo\n\n"


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


# Files that cannot be read


def rejected(source: Source) -> str:
    with pytest.raises(TokbenchError) as caught:
        list(read_source(source))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("path", ["folder", "folder/*", "folder/a.txt/*"])
def test_what_is_no_file_is_no_text(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder" / "a.txt").mkdir(parents=True)
    os.mkfifo(tmp_path / "folder" / "b.txt")
    place = tmp_path / path
    assert rejected(TextSource(type="text", path=[str(place)])) == (
        f"no file at '{place}'; name an existing file, folder or pattern"
    )


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
    expected = f"{path}:3: not a JSON object with a string under 'text'; mend the line"
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == expected


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"text": ', "3:9: not JSON (Expecting value)"),
        ('{"text": "a", "text": "b"}', "3: the key 'text' stands twice in one object"),
        ("[" * 100_000, "3: lists and objects nested more than 100 deep"),
        ('{"text": "a", "n": ' + "[" * 101 + "]" * 101 + "}", "3: lists and objects nested more than 100 deep"),
        ('{"text": "a", "language": ["en"]}', "3: the language under 'language' is no text"),
        ('{"text": "a", "language": "\\ud800"}', "3: the language under 'language' is no text"),
        ('{"text": ' + "9" * 5000 + "}", "3: an integer of thousands of digits"),
    ],
)
def test_line_that_is_not_json(line: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a"}\n\n' + line + "\n")
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == f"{path}:{told}; mend the line"


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


# Splits


@given(st.integers(0, 2**32), st.integers(0, 2**63))
def test_splits_share_bytes_as_asked(draw: int, seed: int) -> None:
    sizes = np.random.default_rng(draw).integers(0, 400, 300)
    splits = split_documents(sizes, FRACTIONS, seed)
    assert np.array_equal(splits, split_documents(sizes, FRACTIONS, seed))
    for place, fraction in enumerate(FRACTIONS.values()):
        assert abs(sizes[splits == place].sum() - fraction * sizes.sum()) <= 400
    assert UNUSED in splits


def test_splits_depend_on_the_seed_and_not_on_the_place() -> None:
    sizes = [100] * 1000
    first = split_documents(sizes, FRACTIONS, 0)
    assert not np.array_equal(first, split_documents(sizes, FRACTIONS, 1))
    halves = [int((half == list(FRACTIONS).index("tokenizer")).sum()) for half in (first[:500], first[500:])]
    assert all(150 < tokenizer < 250 for tokenizer in halves)


def test_a_split_without_documents_is_rejected() -> None:
    with pytest.raises(
        TokbenchError, match=r"split 'evaluation' \(10%\) gets none of the 1 documents; raise its fraction"
    ):
        split_documents([5], {"tokenizer": 0.9, "evaluation": 0.1}, 0)


# Shards


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("source") / "rows.parquet"
    column = [random.integers(0, 256, length, np.uint8).tobytes() for length in random.integers(0, 300, 200)]
    pq.write_table(pa.table({"text": pa.array(column, pa.binary())}), path)
    return ParquetSource(type="parquet", path=[str(path)], language="xx")


def test_splits_and_order_do_not_depend_on_shards(source: Source, tmp_path: Path) -> None:
    whole = {document.document: document for document in read_source(source)}
    read: dict[int, dict[str, list[Document]]] = {}
    for shards in (1, 2, 7):
        folder = tmp_path / str(shards)
        totals = prepare(source, FRACTIONS, 5, shards, folder)
        read[shards] = {split: list(read_documents(shard_paths(folder, split, shards))) for split in FRACTIONS}
        for split, documents in read[shards].items():
            assert totals[split] == (len(documents), sum(len(document.text) for document in documents))
            assert len(list((folder / split).iterdir())) == shards
    assert read[1] == read[2] == read[7]
    numbers = [document.document for documents in read[1].values() for document in documents]
    assert len(set(numbers)) == len(numbers)
    for documents in read[1].values():
        assert documents == sorted(documents)
        assert all(document == whole[document.document] for document in documents)


def test_equal_documents_give_equal_files(source: Source, tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(source, FRACTIONS, 5, 3, tmp_path / name)
    for path in (tmp_path / "one").rglob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_columns_of_a_shard(source: Source, tmp_path: Path) -> None:
    prepare(source, {"tokenizer": 1.0}, 0, 1, tmp_path)
    frame = pl.read_parquet(tmp_path / "tokenizer" / "0000.parquet")
    assert dict(frame.schema) == {"document": pl.Int64, "language": pl.String, "text": pl.Binary}
    assert frame["document"].to_list() == list(range(200))


def test_corrupt_shards(source: Source, tmp_path: Path) -> None:
    prepare(source, {"tokenizer": 1.0}, 0, 2, tmp_path)
    paths = shard_paths(tmp_path, "tokenizer", 2)

    def message() -> str:
        with pytest.raises(TokbenchError) as caught:
            list(read_documents(paths))
        return str(caught.value)

    paths[1].write_bytes(paths[1].read_bytes()[:-30])
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    pl.DataFrame({"document": [1]}).write_parquet(paths[1])
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    paths[1].unlink()
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    assert "\n" not in message()


def test_prepare_command(source: Source, tmp_path: Path, tokbench: Tokbench) -> None:
    recipe = {"source": {"type": "parquet", "language": "xx"}, "splits": FRACTIONS, "shards": 2, "seed": 5}
    corpus = tmp_path / "corpus"
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", corpus, *source.path)  # type: ignore[attr-defined]
    assert outcome.status == 0, outcome.stderr
    prepare(source, FRACTIONS, 5, 2, tmp_path / "direct")
    for split in FRACTIONS:
        direct = shard_paths(tmp_path / "direct", split, 2)
        assert list(read_documents(shard_paths(corpus, split, 2))) == list(read_documents(direct))


# The hub


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


# Languages


def test_languages_of_files_and_units(tmp_path: Path) -> None:
    """A mapping of paths gives the tags; texts are cut into units without loss."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n\nthree")
    rows = write_json_lines(
        tmp_path / "b.jsonl", [{"text": "eins\n\n\nzwei", "language": "x"}, {"text": "", "language": "y"}]
    )
    lines = TextSource(type="text", path={"en": str(tmp_path / "a.txt")}, documents="line")  # type: ignore[arg-type, dict-item]
    assert [(item.language, item.text) for item in read_source(lines)] == [
        ("en", text) for text in (b"one\n", b"two\n", b"\n", b"three")
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


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from("xy")), min_size=60, max_size=90), st.integers(0, 5))
def test_every_language_is_split_alike(documents: list[tuple[int, str]], seed: int) -> None:
    """The shares hold in each language by itself, and its documents fall as they would without the others."""
    sizes = np.array([size for size, _ in documents])
    languages = np.array(["xy".index(language) for _, language in documents])
    splits = split_documents(sizes, {"tokenizer": 0.5, "evaluation": 0.5}, seed, languages)
    for language in set(languages):
        own = languages == language
        share = sizes[own & (splits == 0)].sum() / sizes[own].sum()
        assert abs(share - 0.5) <= 50 / sizes[own].sum()
    alone = split_documents(sizes, {"tokenizer": 0.7}, seed)
    assert np.array_equal(split_documents(sizes, {"tokenizer": 0.7}, seed, np.zeros(len(sizes))), alone)


def test_a_split_may_be_another(tmp_path: Path) -> None:
    source = EmbeddedSource(type="embedded", max_documents=9)
    prepare(source, {"tokenizer": 1.0, "evaluation": "tokenizer"}, 0, 2, tmp_path)
    [one, other] = (list(read_documents(shard_paths(tmp_path, split, 2))) for split in ("tokenizer", "evaluation"))
    assert one == other
    assert len(one) == 9


def test_the_hash_of_documents_is_splitmix64() -> None:
    """Its first numbers from seed 0, as published with it: documents never change their splits."""
    first = [int(_mix(np.zeros(1, np.uint64), seed)[0]) for seed in range(3)]
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
