"""Files are known by one table of endings and by their first bytes; skipped files are reported."""

import gzip
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ODD, Tokbench, write_json_lines
from tests.support.corpora import WRAPPERS, rejected, texts
from tests.support.workflow.checkout import ROOT
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.config.load import files_left_out
from tokbench.corpus.documents import read_findings
from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.read import mistakes_of_fields, read_source
from tokbench.corpus.source_files import files_of, left_out
from tokbench.corpus.units import read_units
from tokbench.errors import TokbenchError
from tokbench.intrinsic.resource import read_resource
from tokbench.io import encodings
from tokbench.io.compression import COMPRESSED
from tokbench.io.encodings import Notes, as_utf8, encoding_name
from tokbench.io.paths import literal
from tokbench.pretokens import PretokenCounts
from tokbench.resource import resource_types

ROWS = [f"naïve text of line {number}\n" for number in range(100)]
CASES: list[Callable[[str], str]] = [str, str.upper, str.title]
COUNT = ("count", "--pretokenization", "gpt2")


def content(kind: str) -> bytes:
    """The same hundred documents as text, one a line, or as JSON Lines."""
    if kind == "text":
        return "".join(ROWS).encode()
    return "".join(json.dumps({"text": row}) + "\n" for row in ROWS).encode()


def source_of(kind: str, path: Path | str) -> TextSource | JsonLinesSource:
    if kind == "text":
        return TextSource(type="text", path=[str(path)], documents="line")
    return JsonLinesSource(type="jsonl", path=[str(path)])


def counted(tokbench: Tokbench, output: Path, *arguments: Any) -> int:
    done = tokbench(*COUNT, "-o", output, *arguments)
    assert done.status == 0, done.stderr
    return PretokenCounts.read(output).total


# Endings and first bytes


def test_every_ending_of_the_tables_is_tried() -> None:
    assert {*WRAPPERS} == {"", *COMPRESSED}


@pytest.mark.parametrize("kind", ["text", "jsonl"])
def test_the_same_counts_under_every_ending(kind: str, tmp_path: Path, tokbench: Tokbench) -> None:
    """For commands, for a corpus that names the file, and for one that names its folder."""
    totals, found = set(), []
    for number, (ending, packed, case) in enumerate(product(corpus_formats[kind].endings, WRAPPERS, CASES)):
        path = tmp_path / "corpus" / f"{number}" / f"a{case(ending + packed)}"
        path.parent.mkdir(parents=True)
        path.write_bytes(WRAPPERS[packed](content(kind)))
        assert texts(source_of(kind, path)) == [row.encode() for row in ROWS]
        assert files_of(source_of(kind, path.parent)) == [path]
        totals.add(counted(tokbench, tmp_path / "counts.parquet", path))
        found.append(path)
    assert len(totals) == 1
    whole = source_of(kind, tmp_path / "corpus")
    assert files_of(whole) == sorted(found)
    assert not left_out(whole)


@pytest.mark.parametrize("packed", [ending for ending in WRAPPERS if ending])
@pytest.mark.parametrize("longest", [None, 30])
def test_compression_is_known_by_the_first_bytes(packed: str, longest: int | None, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(WRAPPERS[packed](content("text")))
    read = read_source(source_of("text", path), longest=longest)
    assert b"".join(document.text for document in read) == content("text")
    path.write_bytes(WRAPPERS[packed](content("text")[:1000]) + WRAPPERS[packed](content("text")[1000:]))
    assert b"".join(texts(source_of("text", path))) == content("text"), "streams that follow each other"


@pytest.mark.parametrize("packed", [ending for ending in WRAPPERS if ending])
def test_damaged_files_are_never_shorter_texts(packed: str, tmp_path: Path) -> None:
    raw = np.random.default_rng(0).integers(97, 122, 50_000, np.uint8).tobytes()
    path = tmp_path / f"text.txt{packed}"
    whole = WRAPPERS[packed](raw)
    for data in (whole[:-3], whole[: len(whole) // 2], whole + b"not compressed", whole + whole[:40], b""):
        path.write_bytes(data)
        assert rejected(TextSource(type="text", path=[str(path)])).startswith(f"{path}: cannot be read (")


def archive(name: str) -> bytes:
    file = io.BytesIO()
    if name == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr("a.txt", "text")
    elif name == "tar":
        with tarfile.open(fileobj=file, mode="w") as together:
            about = tarfile.TarInfo("a.txt")
            about.size = 4
            together.addfile(about, io.BytesIO(b"text"))
    elif name == "parquet":
        pq.write_table(pa.table({"text": ["a"]}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", archive("zip"), "a zip archive; unpack it first"),
        ("a.jsonl.zip", archive("zip"), "a zip archive; unpack it first"),
        ("a.txt", archive("tar"), "a tar archive; unpack it first"),
        (
            "a.txt",
            archive("parquet"),
            "Parquet by its first bytes, and read as text here; set 'type: parquet'",
        ),
        ("a.jsonl", archive("parquet"), "a Parquet file; rename it to .parquet"),
        ("a.tar.gz", WRAPPERS[".gz"](archive("tar")), "a tar archive within gzip; decompress it once"),
        ("a.txt.zst", WRAPPERS[".zst"](archive("parquet")), "a Parquet file within zstd; decompress it once"),
        ("a.txt.gz.gz", WRAPPERS[".gz"](WRAPPERS[".gz"](b"a")), "compressed by gzip within gzip; decompress it once"),
        ("a.txt.xz", WRAPPERS[".xz"](WRAPPERS[".bz2"](b"a")), "compressed by bzip2 within xz; decompress it once"),
        ("a.txt", b"\x04\x22\x4d\x18lz4", "compressed by lz4; unpack it first"),
        ("a.parquet.gz", WRAPPERS[".gz"](archive("parquet")), "Parquet that is compressed by gzip; decompress it"),
    ],
    ids=range(11),
)
def test_other_files_are_rejected(name: str, data: bytes, message: str, tmp_path: Path, tokbench: Tokbench) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert f"{path}: {message}" in tokbench(*COUNT, "-o", tmp_path / "counts.parquet", path).message


def test_an_ending_that_contradicts_the_type(tmp_path: Path, experiment: dict[str, Any]) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    message = f"{path}: JSON Lines by its ending, but the source has 'type: text'; set 'type: jsonl', or rename it"
    assert rejected(TextSource(type="text", path=[str(path)])) == message
    experiment["corpora"]["pydoc"]["source"] = {"type": "text", "path": str(path)}
    assert check(Experiment.model_validate(experiment)) == [f"corpora.pydoc.source.path: {message}"]
    assert "Parquet by its ending" in rejected(JsonLinesSource(type="jsonl", path=[str(_parquet(tmp_path))]))
    assert "JSON Lines by its ending" in rejected(ParquetSource(type="parquet", path=[str(path)]))


def _parquet(folder: Path) -> Path:
    path = folder / "rows.PARQUET"
    pq.write_table(pa.table({"text": ["some text"], "language": ["en"]}), path)
    return path


def test_parquet_and_counts_in_any_case(tmp_path: Path, tokbench: Tokbench) -> None:
    assert counted(tokbench, tmp_path / "COUNTS.PARQUET", _parquet(tmp_path)) == 2
    for name in ("counts", "counts.Parquet"):
        (tmp_path / name).write_bytes((tmp_path / "COUNTS.PARQUET").read_bytes())
        assert PretokenCounts.read(tmp_path / name).total == 2
    (tmp_path / "counts.TSV.GZ").write_bytes(WRAPPERS[".gz"](b"61\t3\n62\t4\n"))
    assert PretokenCounts.read(tmp_path / "counts.TSV.GZ").total == 7


# Windows


def zstd(data: bytes, window: int) -> bytes:
    settings = zstandard.ZstdCompressionParameters(window_log=window, compression_level=1)
    stream = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return stream.compress(data) + stream.flush()


def xz(data: bytes, window: int) -> bytes:
    filters = [{"id": lzma.FILTER_DELTA, "dist": 1}, {"id": lzma.FILTER_LZMA2, "dict_size": 1 << window}]
    return lzma.compress(data, filters=filters)


@pytest.mark.parametrize("pack", [zstd, xz])
def test_windows_of_more_than_128_mib_are_rejected(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "text.txt.packed"
    source = TextSource(type="text", path=[str(path)])
    path.write_bytes(pack(b"some text", 28))
    assert re.search("cannot be read .*memory", rejected(source), re.IGNORECASE)
    path.write_bytes(pack(b"some text", 27))
    assert texts(source) == [b"some text"]


# Folders


def test_skipped_files_of_a_folder_are_counted_by_reason(
    tmp_path: Path, tokbench: Tokbench, experiment: dict[str, Any]
) -> None:
    folder = tmp_path / "folder"
    for name in (
        *("a.txt", "B.TXT", "B.TXT.gz", "e.txt.zstd"),
        *("c.rst", "d.jsonl", ".hidden.txt", ".ipynb_checkpoints/a-checkpoint.txt", "inner/.x/y.txt"),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(WRAPPERS[path.suffix if path.suffix in WRAPPERS else ""](b"some text"))
    (folder / "link.txt").symlink_to("nowhere")
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    line = (
        f"{folder}: 7 entries left out: 2 with another ending (.jsonl, .rst), 3 hidden, 2 that are no files; files of "
        "type 'text' end in .txt, .text, .md"
    )
    source = TextSource(type="text", path=[str(folder)])
    assert texts(source) == [b"some text"] * 4
    assert left_out(source) == [line]
    done = tokbench(*COUNT, "-o", tmp_path / "counts.parquet", folder)
    read = f"read 4 files of {folder}"
    assert done.stderr.splitlines() == [line, read, "2 unique pre-tokens, 8 in all, 36 bytes"]
    recipe = json.dumps({"source": {"type": "text", "path": [str(folder)]}, "splits": {"tokenizer": 1.0}})
    done = tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "corpus")
    assert done.stderr.splitlines()[0] == line
    assert read_findings(tmp_path / "corpus")["left_out"] == [line]
    experiment["corpora"]["pydoc"]["source"] = {"type": "text", "path": str(folder)}
    assert files_left_out(Experiment.model_validate(experiment)) == [f"corpora.pydoc.source.path: {line}"]


def test_limits_are_no_samples(experiment: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    limits = {"max_documents": 3, "max_bytes_per_language": 9}
    source = {"type": "text", "path": str(tmp_path / "a.txt"), **limits}
    experiment["corpora"]["pydoc"]["source"] = source
    assert files_left_out(Experiment.model_validate(experiment)) == [
        f"corpora.pydoc.source.{key}: the beginning of the source is read, which is no sample of it; 'sample' and "
        "'bytes' of the corpus draw from all of it"
        for key in limits
    ]


def test_json_lines_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl.zstd", "c.jsonl.zst", "D.JSONL", "e.jsonl.gz"):
        ending = Path(name).suffix
        (tmp_path / name).write_bytes(WRAPPERS.get(ending, bytes)(content("jsonl")))
    assert len(texts(JsonLinesSource(type="jsonl", path=[str(tmp_path)]))) == 500


def test_a_folder_without_files_of_the_type(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "a.rst").write_text("text")
    message = tokbench(*COUNT, "-o", tmp_path / "counts.parquet", tmp_path).message
    assert f"no file of type 'text' in '{tmp_path}' (1 with another ending (.rst) left out)" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads every folder")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir(mode=0)
    (tmp_path / "a.txt").write_text("text")
    assert "inner: cannot be read (Permission denied)" in rejected(TextSource(type="text", path=[str(tmp_path)]))


# Paths


def test_a_tilde_is_part_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> None:
    home = tmp_path / "home"
    for folder in (home, tmp_path / "work" / "~"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path / "work")
    for place, text in ((home, "wrong one here"), (Path("~").absolute(), "right")):
        (place / "z.txt.zst").write_bytes(WRAPPERS[".zst"](text.encode()))
        pq.write_table(pa.table({"text": [text]}), os.path.join(place, "z.parquet"))
    assert literal(Path("~/z")) == "./~/z"
    assert literal("a/~") == "a/~"
    for name in ("~/z.txt.zst", "~/z.parquet"):
        assert counted(tokbench, tmp_path / "counts.parquet", name) == 1
    assert counted(tokbench, Path("~/counts.parquet"), "~/z.txt.zst") == 1
    assert Path("~/counts.parquet").absolute().is_file()
    assert pl.read_parquet(Path("~/counts.parquet").absolute()).height == 1
    assert not (home / "counts.parquet").exists()


def test_no_library_is_given_a_path_that_it_may_change() -> None:
    """Arrow and Polars replace ``~``; what is written goes to absolute paths."""
    readers = r"\b(?:pq|pl|parquet)\.(?:ParquetFile|read_\w+|scan_\w+)\((?!literal\()\w+"
    calls = [
        f"{path.name}: {call}"
        for path in sorted((ROOT / "src" / "tokbench").rglob("*.py"))
        for call in re.findall(readers, path.read_text(encoding="utf-8"))
    ]
    assert calls == ["facts.py: pl.read_csv(path"], "one that reads bytes"


@pytest.mark.parametrize("key", ["results", "source"])
def test_a_tilde_in_a_configuration(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    if key == "results":
        experiment["results"] = "~/x"
    else:
        experiment["corpora"]["pydoc"]["source"] = {"type": "text", "path": "~/x.txt"}
    [mistake] = check(Experiment.model_validate(experiment))
    assert "~" in mistake
    assert "by the home folder" in mistake


# Text


def test_text_that_is_not_utf8_is_rejected_with_its_place(tmp_path: Path, tokbench: Tokbench) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n" + "naïve".encode("latin-1"))
    for command in (
        (*COUNT, "-o", tmp_path / "counts.parquet", path),
        ("prepare", "--recipe", '{"source": "text", "splits": {"tokenizer": 1.0}}', "-o", tmp_path / "corpus", path),
    ):
        assert tokbench(*command).message == (
            f"tokbench: {path}:3: not UTF-8 (byte 0xef at offset 10); save it as UTF-8, name its encoding (encoding: "
            "latin-1, or --encoding latin-1), or read it as it is with 'bytes'"
        )
    path.write_bytes("naïve".encode()[:3])
    assert "a.txt:1: not UTF-8 (byte 0xc3 at offset 2)" in rejected(TextSource(type="text", path=[str(path)]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_text_of_wide_characters(encoding: str, tmp_path: Path, tokbench: Tokbench) -> None:
    text, rows = tmp_path / "a.txt", tmp_path / "a.jsonl"
    text.write_bytes("".join(ROWS).encode(encoding))
    rows.write_bytes("".join(json.dumps({"text": row}) + "\n" for row in ROWS).encode(encoding))
    message = tokbench(*COUNT, "-o", tmp_path / "counts.parquet", text).message
    assert re.search(r"give its encoding \(encoding: utf-(16|16-le|32), or --encoding", message)
    if encoding in ("utf-16", "utf-32"):
        assert f"--encoding {encoding}" in tokbench(*COUNT, "-o", tmp_path / "counts.parquet", rows).message
    for longest in (None, 8):
        for source in (source_of("text", text), source_of("jsonl", rows)):
            read = read_source(source.model_copy(update={"encoding": encoding}), longest=longest)
            assert b"".join(document.text for document in read) == content("text")
    for path in (text, rows):
        assert counted(tokbench, tmp_path / "counts.parquet", path, "--encoding", encoding) == 600


@given(text=st.text(), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-7", "utf-16-be"]))
def test_every_text_comes_back(text: str, encoding: str) -> None:
    """Valid text stays the same except for a byte-order mark."""
    plain = text if encoding in ("utf-16", "utf-32", "utf-8-sig") else text.removeprefix("\ufeff")
    if encoding == "utf-8" and text.encode().count(0) * 4 >= max(8, len(text.encode())):
        return
    notes = Notes()
    read = as_utf8(io.BytesIO(text.encode(encoding)), "text", encoding_name(encoding), notes).read()
    assert read == plain.removeprefix("\ufeff" if encoding != "utf-8-sig" else "").encode()


@given(data=st.binary(), size=st.integers(1, 9))
def test_bytes_stay_as_they_are_and_are_counted(data: bytes, size: int) -> None:
    notes = Notes()

    class Slow(io.BytesIO):
        def read(self, most: int | None = -1) -> bytes:
            return super().read(size)

    assert as_utf8(Slow(data), "text", "bytes", notes).read() == data
    assert notes.bytes == len(data)
    assert notes.invalid == len(data) - len(data.decode(errors="ignore").encode())
    try:
        data.decode()
    except UnicodeDecodeError as error:
        offset = error.start
        with pytest.raises(TokbenchError) as caught:
            as_utf8(Slow(data), "text", "utf-8").read()
        if found := re.search(r"at offset ([\d,]+)", str(caught.value)):
            assert int(found[1].replace(",", "")) == offset
            assert str(caught.value).startswith(f"text:{1 + data[:offset].count(10)}: ")


def test_marks_and_bytes_are_in_the_manifest(tmp_path: Path, tokbench: Tokbench) -> None:
    """However many parts a corpus is prepared in."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbfsome text\n" * 2)
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(b'\xef\xbb\xbf{"text": "some text"}\n')
    recipe = {"source": {"type": "text", "path": [str(tmp_path)]}, "splits": {"tokenizer": 1.0}}
    tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus")
    assert read_findings(tmp_path / "corpus")["byte_order_marks"] == "byte-order mark removed from 2 files"
    assert texts(TextSource(type="text", path=[str(tmp_path)])) == [b"some text\n\xef\xbb\xbfsome text\n"] * 2
    done = tokbench(*COUNT, "-o", tmp_path / "counts.parquet", lines)
    assert done.stderr.splitlines()[0] == "byte-order mark removed from 1 file"
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"\xffsome text")
    recipe = {"source": {"type": "text", "path": [str(odd)], "encoding": "bytes"}, "splits": {"tokenizer": 1.0}}
    done = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus")
    message = "1 of 10 bytes (10 %) are not UTF-8; read as bytes"
    assert done.stderr.splitlines()[0] == message
    assert read_findings(tmp_path / "corpus") == {"not_utf8": message}
    sizes = tmp_path / "sizes.parquet"
    parts = json.dumps(recipe | {"parts": 2})
    assert tokbench("read_sizes", "--recipe", parts, "-o", sizes, odd).status == 0
    assert tokbench("split_corpus", "--recipe", parts, "-o", tmp_path / "places", sizes).status == 0
    assert read_findings(tmp_path / "places") == {"not_utf8": message}


def test_encodings_that_are_none(tmp_path: Path, tokbench: Tokbench) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    output = ("-o", tmp_path / "counts.parquet")
    for name in ("nonsense", "hex", "undefined", ""):
        assert "is not an encoding; use utf-8, bytes" in tokbench(*COUNT, *output, path, f"--encoding={name}").message
    message = tokbench(*COUNT, *output, path, "--encoding=bytes").message
    assert "a.jsonl: encoding: JSON is text, and cannot be read as 'bytes'" in message
    message = tokbench(*COUNT, *output, _parquet(tmp_path), "--encoding=utf-16").message
    assert message == "tokbench: --encoding utf-16: Parquet has its own encoding; leave the option out"
    recipe = json.dumps({"source": {"type": "jsonl", "encoding": "bytes"}, "splits": {"tokenizer": 1.0}})
    message = tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "corpus", path).message
    assert "encoding: JSON is text, and cannot be read as 'bytes'" in message


@pytest.mark.parametrize("packed", WRAPPERS)
def test_encode_is_lossless_and_decompresses(packed: str, tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    data = b"\xef\xbb\xbf" + ODD
    path, ids = tmp_path / f"odd.txt{packed}", tmp_path / "ids.npy"
    path.write_bytes(WRAPPERS[packed](data))
    done = tokbench("encode", tokenizer, path, "-o", ids)
    assert done.status == 0
    lines = done.stderr.splitlines()
    assert lines[-1].startswith(f"{path}: 5 of {len(data)} bytes")
    assert [line for line in lines if "decompressed" in line] == lines[: bool(packed)]
    assert tokbench("decode", tokenizer, ids).stdout == data
    again = tmp_path / "again.npy"
    assert tokbench("encode", tokenizer, "-", "-o", again, stdin=path.read_bytes()).status == 0
    assert tokbench("decode", tokenizer, again).stdout == data


def test_encode_with_an_encoding(tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("naïve".encode("utf-16"))
    assert tokbench("encode", tokenizer, path, "--encoding", "utf-16", "-o", tmp_path / "ids").status == 0
    assert tokbench("decode", tokenizer, tmp_path / "ids").stdout == "naïve".encode()
    assert "not UTF-8" in tokbench("encode", tokenizer, path, "--encoding", "utf-8").message
    path.write_bytes(WRAPPERS[".gz"](b"text" * 100)[:-4])
    assert f"{path}: cannot be read (" in tokbench("encode", tokenizer, path, "-o", tmp_path / "more").stderr


PAGES = {
    "page.html": b"<p>the cat</p>",
    "page.txt": b"\n<!DOCTYPE html>\n<p>the cat</p>",
    "page.xml": b"<text>the cat</text>",
    "tei.txt": b"<?xml version='1.0'?><text>the cat</text>",
    "crawl.warc": b"WARC/1.0\r\nWARC-Type: response\r\n\r\nthe cat",
    "crawl.wet": b"WARC/1.0\r\nWARC-Type: conversion\r\n\r\nthe cat",
    "rows.csv": b"id,text\n1,the cat\n",
    "rows.tsv": b"id\ttext\n1\tthe cat\n",
    "map.geojson": b'{"type": "FeatureCollection", "features": []}',
    "notes.ipynb": b'{\n "cells": []\n}',
    "letter.rtf": b"{\\rtf1 the cat}",
    "film.srt": b"1\n00:00:01,000 --> 00:00:02,000\nthe cat\n",
    "film.txt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nthe cat\n",
    "pointer.txt": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
    "lines.txt": b'{"text": "the cat"}\n{"text": "a hat"}\n',
}
"""Files whose tags, headers or separators are no text."""


@pytest.mark.parametrize("name", PAGES)
def test_marked_up_files_are_no_text(name: str, tmp_path: Path, tokbench: Tokbench) -> None:
    """One line, unless ``bytes`` reads them as they are."""
    path = tmp_path / name
    path.write_bytes(PAGES[name])
    output = tmp_path / "counts.parquet"
    call = ("count", "--scheme", "gpt2", "-o", output)
    message = tokbench(*call, path).message
    assert message.startswith(f"tokbench: {path}: ")
    assert "encoding: bytes, or --encoding bytes" in message
    assert not output.exists()
    source = TextSource(type="text", path=[str(path)])
    [mistake] = mistakes_of_fields(source)
    assert mistake == message.removeprefix("tokbench: ")
    assert rejected(source) == mistake
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(PAGES[name]))
    assert rejected(TextSource(type="text", path=[str(packed)])).startswith(f"{packed}: ")
    assert tokbench(*call, path, "--encoding", "bytes").status == 0


@pytest.mark.parametrize("name", ["rows.jsonlines", "rows.jl", "rows.log", "rows"])
def test_json_lines_of_another_ending_are_read(name: str, tmp_path: Path, tokbench: Tokbench) -> None:
    path = tmp_path / name
    path.write_bytes(PAGES["lines.txt"])
    found = tokbench("count", "--scheme", "none", "-o", tmp_path / "counts.parquet", path)
    assert found.stderr.splitlines()[-1] == "2 unique pre-tokens, 2 in all, 12 bytes"


def test_a_program_in_julia_is_text(tmp_path: Path, tokbench: Tokbench) -> None:
    path = tmp_path / "program.jl"
    path.write_bytes(b"function f(x)\n  x + 1\nend\n")
    assert tokbench("count", "--scheme", "gpt2", "-o", tmp_path / "counts.parquet", path).status == 0


@pytest.mark.parametrize("documents", ["file", "line"])
def test_marks_of_joined_files_are_counted(documents: str, tmp_path: Path) -> None:
    """They stay, as text does; also one that two blocks share."""
    first = "\ufeffone\n" + "a" * (encodings.PIECE - 8) + "\n"
    path = tmp_path / "joined.txt"
    path.write_text(first + "\ufefftwo\n" + "\ufeffthree\n")
    source = TextSource(type="text", path=[str(path)], documents=documents)  # type: ignore[arg-type]
    notes = Notes()
    text = b"".join(document.text for document in read_source(source, notes=notes))
    assert text == path.read_bytes()[3:]
    assert notes.lines() == {
        "byte_order_marks": "byte-order mark removed from 1 file",
        "inner_byte_order_marks": "2 byte-order marks within texts, as of joined files; kept as text",
    }


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    cells = [pa.array(["a"]), pa.array(["b"]), pa.array(["en"]), pa.array(["x"])]
    for names in (["text", "text", "language", "n"], ["text", "n", "language", "language"]):
        pq.write_table(pa.Table.from_arrays(cells, names=names), tmp_path / "rows.parquet")
        source = ParquetSource(type="parquet", path=[str(tmp_path / "rows.parquet")], language_field="language")
        twice = max(names, key=names.count)
        assert rejected(source) == f"{tmp_path / 'rows.parquet'}: two columns are named '{twice}'; rename one of them"
    pq.write_table(pa.Table.from_arrays(cells, names=["text", "n", "language", "n"]), tmp_path / "rows.parquet")
    assert texts(source) == [b"a"]
    (tmp_path / "units.csv").write_text("document,unit,unit\n0,a,b\n")
    with pytest.raises(TokbenchError, match="two columns are named 'unit'; rename one of them"):
        read_units(tmp_path / "units.csv")
    table = tmp_path / "deu_morph_data.csv"
    table.write_text("full_word,pt1,pt1,rest\nab,a,a,b\n")
    with pytest.raises(TokbenchError, match="two columns are named 'pt1'; rename one of them"):
        read_resource("morphscore", resource_types["morphscore"].options(path=[str(table)]))


def test_a_language_tag_cannot_turn_a_line_round(tmp_path: Path) -> None:
    """Such a character in a tag reversed the captions of figures; escapes show it in messages."""
    tag, shown = "en\u202e", r"the language 'en\u202e' has a character that cannot be printed"
    lines, rows = tmp_path / "rows.jsonl", tmp_path / "rows.parquet"
    write_json_lines(lines, [{"text": "a", "language": tag}, {"text": "b", "language": "en"}])
    pq.write_table(pa.table({"text": ["a", "b"], "language": [tag, "en"]}), rows)
    sources: list[JsonLinesSource | ParquetSource] = [
        JsonLinesSource(type="jsonl", path=[str(lines)]),
        ParquetSource(type="parquet", path=[str(rows)], language_field="language"),
    ]
    for source in sources:
        assert shown in rejected(source)
        assert texts(source.model_copy(update={"bad_lines": "skip"})) == [b"b"]
    for options in ({"language": tag}, {"rename_languages": {"en": tag}}, {"path": {tag: [str(lines)]}}):
        with pytest.raises(ValueError, match="has a character that cannot be printed; name it without"):
            JsonLinesSource(type="jsonl", **options)  # type: ignore[arg-type]
    words = tmp_path / "words.parquet"
    pq.write_table(pa.table({"word": ["a-b"], "lang": [tag]}), words)
    with pytest.raises(TokbenchError, match="has a character that cannot be printed; correct it"):
        read_resource("compoundpiece", resource_types["compoundpiece"].options(path=[str(words)]))
