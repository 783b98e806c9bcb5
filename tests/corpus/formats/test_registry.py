"""Formats of other distributions: one decorated function is a type of source, of pairs, and of files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tokbench.corpus.formats import corpus_format, corpus_formats, format_of_file
from tokbench.corpus.read import read_source
from tokbench.corpus.reading import Reading, Row, RowFields
from tokbench.corpus.sources import FileSource, RecordSource
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError


class PipedSource(RecordSource):
    """Lines of fields between pipes, the first line their names."""

    type: Literal["piped"]


def read_piped(path: Path, fields: RowFields, source: PipedSource, reading: Reading) -> Iterator[Row]:
    """Read lines of fields between pipes."""
    names, *lines = [line.split("|") for line in path.read_text().splitlines()]
    for number, cells in enumerate(lines, 2):
        record = dict(zip(names, cells, strict=False))
        if fields.texts[0] in record:
            yield Row(f"{path}:{number}", "", tuple(record[field].encode() for field in fields.texts))
        else:
            reading.rule.reject_missing(f"{path}:{number}", fields.texts[0])


@pytest.fixture
def piped() -> Iterator[None]:
    register = corpus_format("piped", label="Piped", endings=(".piped",), options=PipedSource, cites=())
    register(read_piped)
    yield
    del corpus_formats._methods["piped"]


@pytest.mark.usefixtures("piped")
def test_format_of_another_distribution_is_read_by_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "rows.piped"
    path.write_text("n|text\n1|a\n2\n3|c\n")
    assert format_of_file(path).name == "piped"
    source = PipedSource(type="piped", path=[str(path)], bad_lines="skip")
    assert [document.text for document in read_source(source)] == [b"a", b"c"]
    with pytest.raises(TokbenchError, match=r"rows.piped:3: no field 'text'; name another field"):
        list(read_files([str(path)]))


class Untyped(FileSource):
    """Options without a type."""


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        ({"options": Untyped}, "its options have another type; annotate it, as in type: Literal['piped']"),
        ({"options": int}, "its options are <class 'int'>; pass a subclass of tokbench.corpus.sources.FileSource"),
        ({"endings": ("piped",)}, "its ending is 'piped'; pass one such as '.ending', in lower case"),
        ({"endings": (".parquet",)}, "'.parquet' is an ending of 'parquet'; choose another"),
    ],
)
def test_wrong_declaration_of_a_format_is_an_error(options: dict[str, Any], mistake: str) -> None:
    corpus_formats.load()
    values: dict[str, Any] = {"label": "Piped", "endings": (".piped",), "options": PipedSource} | options
    with pytest.raises(TokbenchError) as error:
        corpus_format("piped", **values)(read_piped)
    assert str(error.value) == f"corpus format 'piped': {mistake}"


def test_reader_with_other_parameters_is_an_error() -> None:
    call = r"corpus format 'piped': .* is called as \(path, fields, source, reading\)"
    with pytest.raises(TokbenchError, match=call):
        corpus_format("piped", label="Piped", endings=(".piped",), options=PipedSource)(lambda path: iter(()))
