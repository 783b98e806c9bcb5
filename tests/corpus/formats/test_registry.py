"""Formats of other distributions: one decorated function is a type of source, of pairs, and of files."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

from tests.support.workflow.checkout import ROOT
from tokbench.corpus.formats import corpus_format, corpus_formats, format_of_file
from tokbench.corpus.read import read_source
from tokbench.corpus.reading import Reading, Row, RowFields
from tokbench.corpus.sources import FileSource, RecordSource
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError

PAGE = (ROOT / "docs" / "own_tokenizer.md").read_text(encoding="utf-8")
[EXAMPLE] = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "@corpus_format" in code]


@pytest.fixture
def barred() -> Iterator[ModuleType]:
    """Module of the page's example, registered during the test."""
    module = ModuleType("barred")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "barred", module)
        patch.setattr(corpus_formats, "_methods", dict(corpus_formats._methods))
        exec(EXAMPLE, module.__dict__)
        yield module


def test_format_of_the_page_is_read_by_its_ending(barred: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rows.barred"
    path.write_text("n|text|language\n1|a|en\n2\n3|c\n")
    assert format_of_file(path).name == "barred"
    source = barred.BarredSource(type="barred", path=[str(path)], bad_lines="skip", language_field="language")
    assert [(document.language, document.text) for document in read_source(source)] == [("en", b"a"), ("", b"c")]
    with pytest.raises(TokbenchError, match=r"rows.barred:3: no field 'text'; name another field"):
        list(read_files([str(path)]))


class Typed(RecordSource):
    """Options of a format."""

    type: Literal["barred"]


def read_nothing(path: Path, fields: RowFields, source: Typed, reading: Reading) -> Iterator[Row]:
    """Read no row."""
    return iter(())


class Untyped(FileSource):
    """Options without a type."""


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        ({"options": Untyped}, "its options have another type; annotate it, as in type: Literal['barred']"),
        ({"options": int}, "its options are <class 'int'>; pass a subclass of tokbench.corpus.sources.FileSource"),
        ({"endings": ("barred",)}, "its ending is 'barred'; pass one such as '.ending', in lower case"),
        ({"endings": (".parquet",)}, "'.parquet' is an ending of 'parquet'; choose another"),
    ],
)
def test_wrong_declaration_of_a_format_is_an_error(options: dict[str, Any], mistake: str) -> None:
    corpus_formats.load()
    values: dict[str, Any] = {"label": "Barred", "endings": (".barred",), "options": Typed} | options
    with pytest.raises(TokbenchError) as error:
        corpus_format("barred", **values)(read_nothing)
    assert str(error.value) == f"corpus format 'barred': {mistake}"


def test_reader_with_other_parameters_is_an_error() -> None:
    call = r"corpus format 'barred': .* is called as \(path, fields, source, reading\)"
    with pytest.raises(TokbenchError, match=call):
        corpus_format("barred", label="Barred", endings=(".barred",), options=Typed)(lambda path: iter(()))
