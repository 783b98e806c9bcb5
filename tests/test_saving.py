"""Saving a tokenizer into a folder: whole, apart from what else lies there, and open to ``transformers``."""

import json
from pathlib import Path

import pytest

from tests.conftest import Tokbench
from tests.support.outputs import names, small_files
from tokbench.construction import bpe, ngram, unigram
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

BY_MERGES = [".tokbench.json", "merges.tsv", "tokbench.json", "tokenizer_config.json", "tokens.vocab"]
BY_SCORES = [name.replace("merges.tsv", "scores.txt") for name in BY_MERGES]


@pytest.fixture(scope="module")
def merging(counts: PretokenCounts) -> Tokenizer:
    return Tokenizer(bpe.build(counts, 400, bpe.BpeOptions()), "gpt2", "merge", name="merging")


@pytest.fixture(scope="module")
def likely(counts: PretokenCounts) -> Tokenizer:
    vocabulary = unigram.build(counts, 500, unigram.UnigramOptions(seed_size=2000))
    return Tokenizer(vocabulary, "gpt2", "likelihood", name="likely")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_second_tokenizer_takes_the_place_of_the_first(merging: Tokenizer, likely: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "with it"
    merging.save(str(folder))
    assert names(folder) == BY_MERGES
    (folder / "thesis.tex").write_text("mine")
    likely.save(folder)
    assert names(folder) == sorted([*BY_SCORES, "thesis.tex"])
    assert Tokenizer.load(folder).name == "likely"
    assert (folder / "thesis.tex").read_text() == "mine"
    merging.save(folder)
    assert Tokenizer.load(folder).encode("some text").tolist() == merging.encode("some text").tolist()


def test_no_folder_can_be_where_a_file_is(merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "within"):
        with pytest.raises(TokbenchError, match=rf"^{folder}: .* file"):
            merging.save(folder)
    assert names(tmp_path) == ["file"]


def test_what_was_saved_stays_where_the_next_cannot_be(
    merging: Tokenizer, likely: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    likely.save(tmp_path)
    before = contents(tmp_path)
    monkeypatch.setattr(merging, "origin", {"long": "x" * (1 << 17)})
    with small_files(), pytest.raises(TokbenchError, match=rf"^{tmp_path}: cannot be written whole \(File too large\)"):
        merging.save(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["merges.tsv", "scores.txt", "tokens.vocab"])
def test_files_of_those_names_that_are_the_users_own_stay(name: str, merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(TokbenchError) as rejection:
        merging.save(tmp_path)
    assert str(rejection.value) == f"{tmp_path / name}: belongs to no saved tokenizer; save into another folder"
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("written", ['{"tokenizer_class": "GPT2Tokenizer"}', "{}", "[]", "{"])
def test_another_tokenizers_configuration_stays(written: str, merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(written)
    with pytest.raises(TokbenchError, match=r"belongs to another tokenizer; save into another folder$"):
        merging.save(tmp_path)
    assert names(tmp_path) == ["tokenizer_config.json"]


def test_what_was_built_and_what_is_saved_are_the_same(
    counts: PretokenCounts, likely: Tokenizer, tmp_path: Path, tokbench: Tokbench
) -> None:
    counts.write(tmp_path / "counts.parquet")

    def build() -> None:
        outcome = tokbench("build", "bpe", "--size", 400, "--counts", tmp_path / "counts.parquet", "-o", built)
        assert outcome.status == 0, outcome.stderr

    built = tmp_path / "built"
    build()
    loaded = Tokenizer.load(built)
    loaded.save(tmp_path / "saved")
    saved = contents(tmp_path / "saved")
    assert {name: (built / name).read_bytes() for name in saved if name != ".tokbench.json"} == {
        name: data for name, data in saved.items() if name != ".tokbench.json"
    }
    loaded.save(built)
    assert (built / "tokenizer.json").exists()
    likely.save(built)
    assert not (built / "tokenizer.json").exists()
    assert Tokenizer.load(built).name == "likely"
    build()
    assert names(built) == sorted([*BY_MERGES, "manifest.json", "tokenizer.json"])
    assert Tokenizer.load(built).name == "built"


def test_auto_tokenizer_opens_what_was_saved(counts: PretokenCounts, likely: Tokenizer, tmp_path: Path) -> None:
    """After another tokenizer was saved there by transformers, with ids of its own for special tokens."""
    transformers = pytest.importorskip("transformers")
    likely.save(tmp_path)
    adapter = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert adapter("some text")["input_ids"] == likely.encode("some text").tolist()
    adapter.model_max_length = 77
    adapter.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == 77
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).model_max_length == 77

    other = Tokenizer(ngram.build(counts, 450, ngram.NgramOptions()), "gpt2", "greedy")
    other.save(tmp_path)
    adapter = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (adapter.vocab_size, len(adapter), adapter.eos_token_id) == (450, 452, 450)
    assert adapter("some text")["input_ids"] == other.encode("some text").tolist()


def test_transformers_save_clears_stale_files_too(merging: Tokenizer, likely: Tokenizer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    merging.save(tmp_path / "one")
    likely.save(tmp_path / "other")
    transformers.AutoTokenizer.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "other")
    assert "scores.txt" not in names(tmp_path / "other")
    assert Tokenizer.load(tmp_path / "other").name == "merging"
