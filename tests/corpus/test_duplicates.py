"""Documents on both sides of a corpus's splits, and files of equal content: counted, said, and dropped if asked for."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench, write_json_lines
from tests.support.corpora import whole_texts
from tokbench.config.experiment import Experiment
from tokbench.config.load import files_with_equal_content
from tokbench.corpus.duplicates import Duplicates, compared_splits, equal_files
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.sources import CountsSource, EmbeddedSource
from tokbench.corpus.splits import UNUSED
from tokbench.errors import TokbenchError
from tokbench.workflow.corpora import Corpora

SPLITS = {"tokenizer": 0.5, "evaluation": 0.3, "pretraining": 0.2}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 3)), max_size=80), st.sampled_from([1, 1 << 60]))
def test_duplicates_are_those_of_both_sides(rows: list[tuple[int, int]], spread: int) -> None:
    """Against a definition document by document; digests with equal halves are different."""
    fractions = {"byte_lm": 0.1, "tokenizer": 0.4, "evaluation": 0.3, "pretraining": 0.2}
    digests = np.array([(text // 4 * spread, text % 4) for text, _ in rows], np.uint64).reshape(-1, 2)
    splits = np.array([split for _, split in rows], np.int8)
    sizes = np.array([text for text, _ in rows], np.int64)
    found = Duplicates(digests, splits, fractions, sizes).numbers.tolist()
    others = {text for text, split in rows if split in (1, 3)}
    assert found == [number for number, (text, split) in enumerate(rows) if split == 2 and text in others]


def test_only_splits_with_a_share_are_compared() -> None:
    assert compared_splits(SPLITS) == ["tokenizer", "pretraining"]
    assert compared_splits({"tokenizer": 1.0}) == []
    assert compared_splits({"evaluation": 0.5, "pretraining": 0.0, "byte_lm": 0.5}) == []


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Forty documents of which half are there twice, and long ones of which some differ in a last piece alone."""
    texts = [f"document {number}" for number in range(20)] * 2 + [
        "word " * 300_000 + f"{number % 3}" for number in range(9)
    ]
    return write_json_lines(tmp_path / "rows.jsonl", [{"text": text} for text in texts])


@pytest.mark.parametrize("longest", [1_000_000, None])
def test_prepare_counts_and_drops_duplicates(
    rows: Path, longest: int | None, tmp_path: Path, tokbench: Tokbench
) -> None:
    recipe: dict[str, Any] = {"source": {"type": "jsonl"}, "splits": SPLITS, "longest_document": longest, "shards": 2}
    found, said = {}, {}
    for duplicates in ("keep", "drop"):
        folder = tmp_path / duplicates
        call = json.dumps(recipe | {"duplicates": duplicates})
        said[duplicates] = tokbench("prepare", "--recipe", call, "-o", folder, rows).stderr
        found[duplicates] = {split: whole_texts(folder / split) for split in SPLITS}
        line = json.loads((folder / "manifest.json").read_text())["duplicates"]
        assert line in said[duplicates].splitlines()
        assert line.endswith("left out of it" if duplicates == "drop" else "kept (duplicates: keep)")
    kept, dropped = found["keep"], found["drop"]
    others = {text for split in ("tokenizer", "pretraining") for text in kept[split]}
    both = [text for text in kept["evaluation"] if text in others]
    assert 0 < len(both) < len(kept["evaluation"])
    number = f"{len(both):,} of {len(kept['evaluation']):,} documents of evaluation ({sum(map(len, both)):,} bytes)"
    assert line == f"{number} are also in tokenizer or pretraining, byte for byte; left out of it"
    assert dropped == kept | {"evaluation": [text for text in kept["evaluation"] if text not in others]}
    assert f"evaluation: {len(dropped['evaluation'])} documents" in said["drop"]


def test_equal_splits_are_not_compared(rows: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 1.0, "evaluation": "tokenizer"}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", rows)
    assert "byte for byte" not in outcome.stderr
    assert not (tmp_path / "corpus" / "manifest.json").exists()


def test_nothing_left_to_evaluate(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": "same"}] * 10)
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "duplicates": "drop"}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", rows)
    assert outcome.message == (
        "tokbench: split 'evaluation': all 5 documents are also in tokenizer; set 'duplicates: keep', or add other "
        "documents"
    )
    splits = np.array([0] * 5 + [1] * 5, np.int8)
    duplicates = Duplicates(np.zeros((10, 2), np.uint64), splits, {"tokenizer": 0.5, "evaluation": 0.5}, splits)
    with pytest.raises(TokbenchError, match="all 5 documents"):
        duplicates.drop(splits)
    assert UNUSED not in splits


@pytest.mark.parametrize("duplicates", ["keep", "drop"])
def test_recipes_name_dropped_duplicates(duplicates: str, experiment: dict[str, Any]) -> None:
    experiment["corpora"] = {"pydoc": {"source": "embedded", "duplicates": duplicates}}
    corpora = Corpora(Experiment.model_validate(experiment))
    named = type("Wildcards", (), {"corpus": "pydoc", "part": "0000"})
    for recipe in (corpora.recipe(named), corpora.split_recipe(named)):
        assert json.loads(recipe).get("duplicates", "keep") == duplicates
        assert ("duplicates" in json.loads(recipe)) == (duplicates == "drop")
    for recipe in (corpora.sizes_recipe(named), corpora.deal_recipe(named)):
        assert "duplicates" not in json.loads(recipe)


# Units


def test_files_of_equal_content(tmp_path: Path, experiment: dict[str, Any], tokbench: Tokbench) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in (("a", "one\n"), ("b", "two\n"), ("c", "one\n"), ("d", ""), ("e", ""), ("f", "three\n")):
        (texts / f"{name}.txt").write_text(text)
    line = f"2 files have equal content: {texts}/a.txt, {texts}/c.txt"
    source = TextSource(type="text", path=[str(texts)])
    assert equal_files(source) == [line]
    twice = JsonLinesSource(type="jsonl", path={"en": [str(texts / "a.txt")], "de": [str(texts / "a.txt")]})
    assert equal_files(twice) == [f"2 files have equal content: {texts}/a.txt, {texts}/a.txt"]
    names = [texts / f"{'long' * 50}{number}.txt" for number in range(5)]
    for name in names:
        name.write_text("many\n")
    several = f"5 files have equal content: {names[0]}, {names[1]}, {names[2]} and 2 more"
    assert equal_files(source) == [line, several]
    for name in names:
        name.unlink()
    assert equal_files(CountsSource(type="counts", path=[str(texts)])) == []
    assert equal_files(EmbeddedSource(type="embedded")) == []
    experiment["corpora"] = {"pydoc": {"source": {"type": "text", "path": str(texts)}}}
    assert files_with_equal_content(Experiment.model_validate(experiment)) == [f"corpora.pydoc.source.path: {line}"]
    recipe = {"source": {"type": "text", "path": str(texts)}, "splits": {"tokenizer": 1.0}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus")
    assert line in outcome.stderr.splitlines()
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_text()) == {"equal_files": [line]}
