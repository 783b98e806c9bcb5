"""Normalization of a corpus: documents in Normalization Form C, counted, and the same in one job and in parts."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench, write_json_lines
from tests.support.pipeline import done
from tokbench.config.experiment import Experiment
from tokbench.corpus.documents import read_documents, read_findings
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.nfc import nfc
from tokbench.corpus.read import read_source
from tokbench.io.encodings import Notes
from tokbench.workflow.corpora import Corpora

COMBINED, APART = "caf\u00e9 \u00e0", "cafe\u0301 a\u0300"
DOCUMENTS = ["plain", APART, COMBINED, APART * 3, "\u1e9b\u0323", "e\u0301 plain " * 9]


def source_of(folder: Path, texts: list[str] = DOCUMENTS, **limits: Any) -> JsonLinesSource:
    path = write_json_lines(folder / "texts.jsonl", [{"text": text} for text in texts])
    return JsonLinesSource(type="jsonl", path=[str(path)], **limits)


@given(st.lists(st.sampled_from([*"ae\u0301\u0300\u0323 \u1100\u1161", COMBINED]), max_size=20).map("".join))
def test_text_is_that_of_the_standard_library(text: str) -> None:
    assert nfc(text.encode()).decode() == unicodedata.normalize("NFC", text)
    assert nfc(b"\xff" + text.encode() + b"\xe4") == b"\xff" + unicodedata.normalize("NFC", text).encode() + b"\xe4"


def test_documents_are_normalised_and_counted(tmp_path: Path) -> None:
    source, notes = source_of(tmp_path), Notes()
    found = [document.text.decode() for document in read_source(source, notes=notes, normalize="nfc")]
    assert found == [unicodedata.normalize("NFC", text) for text in DOCUMENTS]
    assert notes.lines() == {"normalized": "3 documents are changed by normalization (NFC)"}
    plain = Notes()
    assert [document.text.decode() for document in read_source(source, notes=plain)] == DOCUMENTS
    assert plain.lines() == {}


def test_documents_beyond_the_limits_are_not_counted(tmp_path: Path) -> None:
    notes = Notes()
    assert len(list(read_source(source_of(tmp_path, max_documents=3), notes=notes, normalize="nfc"))) == 3
    assert notes.normalized == 1


def test_a_long_document_counts_once(tmp_path: Path) -> None:
    notes = Notes()
    pieces = list(read_source(source_of(tmp_path), longest=20, notes=notes, normalize="nfc"))
    assert len(pieces) > len(DOCUMENTS)
    assert b"".join(piece.text for piece in pieces).decode() == unicodedata.normalize("NFC", "".join(DOCUMENTS))
    assert notes.normalized == 3


def test_prepare_and_parts_write_the_same_corpus(tmp_path: Path, tokbench: Tokbench) -> None:
    path = write_json_lines(tmp_path / "texts.jsonl", [{"text": text} for text in DOCUMENTS])
    recipe: dict[str, Any] = {"source": {"type": "jsonl"}, "splits": {"evaluation": 1.0}, "normalize": "nfc"}
    seeded = json.dumps({**recipe, "seed": 0})
    done(tokbench("prepare", "--recipe", seeded, "-o", tmp_path / "corpus", path))
    shards = [tmp_path / "corpus" / "evaluation" / "0000.parquet"]
    assert [document.text.decode() for document in read_documents(shards)] == [
        unicodedata.normalize("NFC", text) for text in DOCUMENTS
    ]
    assert read_findings(tmp_path / "corpus") == {"normalized": "3 documents are changed by normalization (NFC)"}
    sizes, places = tmp_path / "sizes.parquet", tmp_path / "places"
    done(tokbench("read_sizes", "--recipe", json.dumps(recipe), "-o", sizes, path))
    done(tokbench("split_corpus", "--recipe", seeded, "-o", places, sizes))
    part = places / "0000.parquet"
    done(tokbench("deal_part", "--recipe", json.dumps(recipe), "--places", part, "-o", tmp_path / "q.parquet", path))
    line = ["--recipe", json.dumps(recipe), "--group", 0, "--places", places, "-o", tmp_path / "group"]
    done(tokbench("write_shards", *line, tmp_path / "q.parquet"))
    assert (tmp_path / "group" / "evaluation" / "0000.parquet").read_bytes() == shards[0].read_bytes()
    assert read_findings(tmp_path / "group") == read_findings(tmp_path / "corpus")


@pytest.mark.parametrize("normalize", [None, "nfc"])
def test_recipes_have_the_key_only_if_it_is_set(normalize: str | None, experiment: dict[str, Any]) -> None:
    experiment["corpora"] = {"pydoc": {"source": "embedded", "normalize": normalize}}
    corpora = Corpora(Experiment.model_validate(experiment))
    named = type("Wildcards", (), {"corpus": "pydoc", "part": "0000"})
    for recipe in (corpora.recipe, corpora.sizes_recipe, corpora.deal_recipe, corpora.split_recipe):
        assert json.loads(recipe(named)).get("normalize") == normalize
        assert ("normalize" in recipe(named)) == (normalize is not None)
