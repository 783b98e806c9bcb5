"""The rule for null, empty, missing and wrong texts and languages, which is the same in every format of records."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Tokbench
from tests.support.corpora import rejected, texts
from tokbench.corpus.documents import Document
from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.parallel import RECORD_PAIRS
from tokbench.corpus.parallel_read import read_pairs
from tokbench.corpus.read import mistakes_of_fields, read_source
from tokbench.corpus.reading import REMEDY
from tokbench.corpus.sources import RecordSource
from tokbench.io.encodings import Notes

Columns = Mapping[str, Sequence[Any]]


def write_arrow(path: Path, columns: Columns) -> None:
    table = pa.table(dict(columns))
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_lines(path: Path, columns: Columns) -> None:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, Columns], None]] = {
    "arrow": write_arrow,
    "jsonl": write_lines,
    "parquet": lambda path, columns: pq.write_table(pa.table(dict(columns)), path),
}
PLACES = {"arrow": ": record batch 1, row {}", "jsonl": ":{}", "parquet": ": row {}"}


@pytest.fixture(params=[method.name for method in corpus_formats.methods() if method.rows])
def form(request: pytest.FixtureRequest) -> str:
    """Each format of records; a new one needs a writer here."""
    return str(request.param)


def source_of(form: str, folder: Path, columns: Columns, **options: Any) -> RecordSource:
    path = folder / f"rows{corpus_formats[form].endings[0]}"
    WRITERS[form](path, columns)
    source = corpus_formats[form].source(path=[str(path)], **options)
    assert isinstance(source, RecordSource)
    return source


@pytest.mark.parametrize("longest", [None, 1 << 20])
def test_null_text_is_a_bad_record_and_an_empty_text_a_document(
    longest: int | None, form: str, tmp_path: Path, tokbench: Tokbench
) -> None:
    source = source_of(form, tmp_path, {"text": ["a", None, "", "b"]})
    [path] = source.path
    assert rejected(source) == f"{path}{PLACES[form].format(2)}: no text under 'text'; {REMEDY}"
    notes = Notes()
    skipping = source.model_copy(update={"bad_lines": "skip"})
    assert [document.text for document in read_source(skipping, longest=longest, notes=notes)] == [b"a", b"", b"b"]
    assert notes.counts() == {"bad_records": 1}
    call = ("count", "--scheme", "gpt2", "-o", tmp_path / "counts.parquet", "--bad-lines", "skip", path)
    assert "1 bad record left out" in tokbench(*call).stderr.splitlines()


def test_language_may_be_null_but_must_be_printable(form: str, tmp_path: Path) -> None:
    columns = {"text": ["a", "b", "c"], "language": ["en", None, "e\u202en"]}
    source = source_of(form, tmp_path, columns, language_field="language")
    assert rejected(source).startswith(f"{source.path[0]}{PLACES[form].format(3)}: the language 'e")
    skipping = source.model_copy(update={"bad_lines": "skip"})
    assert list(read_source(skipping)) == [Document(0, "en", b"a"), Document(1, "", b"b")]


def test_records_without_the_field_are_a_mistake_before_any_work(form: str, tmp_path: Path) -> None:
    source = source_of(form, tmp_path, {"body": ["a"]}, bad_lines="skip")
    [mistake] = mistakes_of_fields(source)
    assert mistake.startswith(f"{source.path[0]}: no ")


@pytest.mark.parametrize(("unit", "expected"), [("line", [b"a\n", b"b"]), ("paragraph", [b"a\n\n", b"b"])])
def test_texts_are_split_into_documents(unit: str, expected: list[bytes], form: str, tmp_path: Path) -> None:
    assert texts(source_of(form, tmp_path, {"text": ["a\n\nb"]}, documents=unit)) == expected


def test_null_side_of_a_pair_is_empty(form: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    WRITERS[form](path, {"en": ["a", "b"], "de": ["c", None]})
    pairs = RECORD_PAIRS[form].model_validate({"type": form, "path": [str(path)]})
    assert list(read_pairs(pairs, ("en", "de"))) == [(b"a", b"c"), (b"b", b"")]
