"""Arrow IPC files and streams: types of text, null and empty texts, damage, parts, and folders of ``datasets``."""

import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.conftest import ODD, Tokbench
from tests.support.corpora import rejected, texts
from tokbench.corpus.documents import Document
from tokbench.corpus.formats.arrow import ArrowSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.parallel import ParallelCorpus
from tokbench.corpus.parallel_read import read_pairs
from tokbench.corpus.read import read_source
from tokbench.corpus.reading import REMEDY, ReadSpan
from tokbench.corpus.source_files import files_of, left_out
from tokbench.corpus.text_files import read_files
from tokbench.io.compression import Fields
from tokbench.io.encodings import Notes
from tokbench.options import validated

FORMS: dict[str, Callable[..., Any]] = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}
ROWS = ["first", None, "", "longer than the twelve bytes of a view", "ä🦀"]
TYPES = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "large dictionary": pa.dictionary(pa.int32(), pa.large_string()),
}


def write(path: Path, table: pa.Table, form: str = "file", rows: int = 2, compression: str | None = None) -> Path:
    with FORMS[form](path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, rows)
    return path


def source_of(path: Path, **options: Any) -> ArrowSource:
    return ArrowSource(type="arrow", path=[str(path)], **options)


def column_of(kind: str) -> pa.Array:
    plain = pa.array([None if row is None else row.encode() for row in ROWS], pa.binary())
    if kind.endswith("dictionary"):
        return plain.cast(pa.string()).dictionary_encode().cast(TYPES[kind])
    return plain.cast(pa.string()).cast(TYPES[kind])


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES)
def test_text_of_every_type_is_read(kind: str, form: str, compression: str | None, tmp_path: Path) -> None:
    table = pa.table({"n": range(len(ROWS)), "text": column_of(kind), "tag": ["en", "de", None, "en", ""]})
    path = write(tmp_path / "rows.arrow", table, form, compression=compression)
    source = source_of(path, language_field="tag", bad_lines="skip")
    tagged = zip(ROWS, table["tag"].to_pylist(), strict=True)
    expected = [(tag or "", row.encode()) for row, tag in tagged if row is not None]
    for longest in (None, 16):
        notes = Notes()
        found = [(one.language, one.text) for one in read_source(source, notes=notes, longest=longest)]
        assert b"".join(text for _, text in found) == b"".join(text for _, text in expected)
        assert longest is not None or found == expected
        assert notes.counts() == {"bad_records": 1}


def test_null_within_a_dictionary_is_a_null_text(tmp_path: Path) -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", None]))
    path = write(tmp_path / "rows.arrow", pa.table({"text": cells}))
    assert rejected(source_of(path)) == f"{path}: record batch 1, row 2: no text under 'text'; {REMEDY}"
    assert texts(source_of(path, bad_lines="skip")) == [b"a", b"a"]


def test_rows_in_messages_are_those_of_their_batch(tmp_path: Path) -> None:
    for form in FORMS:
        path = write(tmp_path / f"{form}.arrow", pa.table({"text": ["a", "b", "c", None]}), form, rows=3)
        assert rejected(source_of(path)) == f"{path}: record batch 2, row 1: no text under 'text'; {REMEDY}"
    path = write(tmp_path / "slices.arrow", pa.table({"text": ["a"] * 600 + [None]}), rows=1000)
    assert rejected(source_of(path)).startswith(f"{path}: record batch 1, row 601: no text")


def test_text_that_is_not_utf8_is_read_as_bytes(tmp_path: Path) -> None:
    offsets, data = pa.array([ODD]).buffers()[1:]
    broken = pa.StringArray.from_buffers(1, offsets, data)
    path = write(tmp_path / "rows.arrow", pa.table({"text": broken, "tag": broken}))
    assert texts(source_of(path)) == [ODD]
    assert rejected(source_of(path, language_field="tag")).startswith(f"{path}: record batch 1, row 1: the language ")


def test_dots_lead_into_structures(tmp_path: Path) -> None:
    rows = [{"en": "a", "tags": {"lang": "x"}}, {"en": "b", "tags": None}, None]
    path = write(tmp_path / "rows.arrow", pa.table({"n": [1, 2, 3], "translation": rows}))
    source = source_of(path, text_field="translation.en", language_field="translation.tags.lang", bad_lines="skip")
    assert list(read_source(source)) == [Document(0, "x", b"a"), Document(1, "", b"b")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"body": ["a"]}), "no column 'text' (there are body)"),
        (pa.table({"text": [1]}), "column 'text' has type int64, not text; name another"),
        (pa.Table.from_arrays([pa.array(["a"])] * 2, ["text"] * 2), "two columns are named 'text'; rename one of them"),
    ],
    ids=["missing", "numbers", "twice"],
)
def test_column_without_text_is_an_error_even_if_bad_records_are_skipped(
    table: pa.Table, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "rows.arrow", table)
    assert rejected(source_of(path, bad_lines="skip")) == f"{path}: {message}"


@pytest.mark.parametrize("form", FORMS)
def test_truncated_files_are_rejected(form: str, tmp_path: Path) -> None:
    """Also between two batches of a stream, which Arrow takes for its end."""
    path = write(tmp_path / "rows.arrow", pa.table({"text": ["some text"] * 6}), form)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        message = rejected(source_of(path, bad_lines="skip"))
        assert message.startswith(f"{path}: not readable as Arrow ("), length


@pytest.mark.parametrize("form", FORMS)
def test_offsets_beyond_the_text_are_rejected(form: str, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.arrow", pa.table({"text": ["some text here"]}), form)
    content = path.read_bytes()
    place = content.rindex((14).to_bytes(4, "little"), 0, content.rindex(b"some text here"))
    path.write_bytes(content[:place] + (1 << 30).to_bytes(4, "little") + content[place + 4 :])
    assert rejected(source_of(path)).startswith(f"{path}: not readable as Arrow (")


def test_indices_beyond_the_dictionary_are_rejected(tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), pa.array(["a"]), safe=False)
    path = write(tmp_path / "rows.arrow", pa.table({"text": column}))
    assert rejected(source_of(path)).startswith(f"{path}: not readable as Arrow (")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 40])
def test_parts_of_a_file_have_each_row_once(form: str, parts: int, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.arrow", pa.table({"text": [f"{n} " * n for n in range(1, 30)]}), form, rows=3)
    found = [
        document.text
        for part in range(parts)
        for document in read_source(source_of(path), span=ReadSpan(Fraction(part, parts), Fraction(part + 1, parts)))
    ]
    assert found == texts(source_of(path))


def test_compressed_file_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.arrow", pa.table({"text": ["a"]}))
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert rejected(source_of(path)) == f"{path}: Arrow that is compressed by gzip; decompress it"


@pytest.mark.parametrize("form", FORMS)
def test_format_is_known_by_ending_and_by_first_bytes(form: str, tmp_path: Path, tokbench: Tokbench) -> None:
    table = pa.table({"text": ["two words", "a"], "language": ["en", "de"]})
    for name in ("rows.ARROW", "rows.feather", "rows"):
        path = write(tmp_path / name, table, form)
        assert list(read_files([str(path)])) == [Document(0, "en", b"two words"), Document(1, "de", b"a")]
    done = tokbench("count", "--pretokenization", "gpt2", "-o", tmp_path / "counts.parquet", path)
    assert done.status == 0, done.stderr
    message = rejected(TextSource(type="text", path=[str(path)]))
    assert message.startswith(f"{path}: Arrow by its first bytes, and read as text here; set 'type: arrow'")
    path = write(tmp_path / "other.arrow", pa.table({"body": ["a"]}), form)
    assert list(read_files([str(path)], Fields(text="body"))) == [Document(0, "", b"a")]


def test_pairs_of_a_parallel_corpus_are_read(tmp_path: Path) -> None:
    pairs = [{"en": "a cat", "de": "eine Katze"}, {"en": "a hat", "de": None}]
    path = write(tmp_path / "pairs.arrow", pa.table({"translation": pairs}))
    fields = {"en": "translation.en", "de": "translation.de"}
    train = {"type": "arrow", "path": str(path), "fields": fields}
    values = {"languages": ["en", "de"], "train": train, "tests": {"held": 1}}
    source = validated(values, ParallelCorpus, "here").train
    assert list(read_pairs(source, ("en", "de"))) == [(b"a cat", b"eine Katze"), (b"a hat", b"")]


def test_folder_of_save_to_disk_is_read_without_its_caches(tmp_path: Path, tokbench: Tokbench) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"text": [f"text {number}" for number in range(9)], "language": ["en"] * 9}
    folder = tmp_path / "saved"
    datasets.Dataset.from_dict(rows).save_to_disk(str(folder), num_shards=3)
    write(folder / "cache-0123456789abcdef.arrow", pa.table({"text": ["of a cache"]}), "stream")
    source = source_of(folder)
    assert texts(source) == [text.encode() for text in rows["text"]]
    [line] = left_out(source)
    assert line.startswith(f"{folder}: 3 entries left out: 2 with another ending (.json), 1 not part of the data set")
    assert [document.text for document in read_files([str(folder)])] == texts(source)
    done = tokbench("count", "--pretokenization", "gpt2", "-o", tmp_path / "counts.parquet", folder)
    assert f"read 3 files of {folder}" in done.stderr.splitlines()
    recipe = {"source": {"type": "arrow", "path": str(folder)}, "splits": {"tokenizer": 1.0}}
    assert tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus").status == 0


def test_splits_of_a_saved_dictionary_of_data_sets_are_read_by_folder(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    both = {name: datasets.Dataset.from_dict({"text": [name]}) for name in ("train", "test")}
    datasets.DatasetDict(both).save_to_disk(str(tmp_path / "saved"))
    assert sorted(texts(source_of(tmp_path / "saved"))) == [b"test", b"train"]
    assert texts(source_of(tmp_path / "saved" / "train")) == [b"train"]
    assert [path.parent.name for path in files_of(source_of(tmp_path / "saved"))] == ["test", "train"]
