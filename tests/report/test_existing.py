"""Existing tokenizers in tables, leaderboard and report: compared at their own sizes, also next to built tokenizers."""

import re
from pathlib import Path

import polars as pl
import pytest

from tests.support.existing_experiment import BUILT, SIZES, run, sentences
from tokbench.api import compare
from tokbench.report.answer import answers
from tokbench.report.caveats import caveats
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Table
from tokbench.report.html import render, sections
from tokbench.report.leaderboard import answer
from tokbench.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("existing")


@pytest.fixture(scope="module")
def content(folder: Path) -> ReportContent:
    return run(folder)


@pytest.fixture(scope="module")
def mixed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mixed")


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> ReportContent:
    return run(mixed_folder, built=True)


def existing(content: ReportContent) -> pl.DataFrame:
    frame = content.existing
    assert frame is not None
    return frame


def exhibits(content: ReportContent, identifier: str) -> dict[str, Table | Drawing]:
    [section] = [section for section in sections(content) if section.identifier == identifier]
    return {exhibit.name: exhibit for exhibit in section.exhibits if isinstance(exhibit, Table | Drawing)}


def page(content: ReportContent, folder: Path) -> str:
    render(content, folder / "report.html")
    return (folder / "report.html").read_text()


def test_numbers_are_those_of_a_comparison_on_the_same_documents(content: ReportContent, folder: Path) -> None:
    tokenizers = {name: Tokenizer.load(folder / "tokenizers" / name / "own") for name in SIZES}
    texts = {
        language: [document["text"] for document in sentences() if document["language"] == language]
        for language in ("en", "de")
    }
    compared = compare(list(tokenizers.values()), texts, premium="en")
    ours = {(row["language"], row["variant"]): row for row in existing(content).iter_rows(named=True)}
    assert len(ours) == len(compared) == 3 * len(SIZES)
    for theirs in compared.iter_rows(named=True):
        row = ours[theirs["language"], theirs["name"]]
        assert row["size"] == theirs["size"]
        assert row["documents_changed"] == theirs["changed"]
        for name in ("tokens", "bytes_per_token", "difference"):
            assert row[name] == theirs[name]
        for name in ("low", "high", "holm"):
            assert row[f"difference_{name}"] == theirs[name]
        assert row["premium"] == (None if theirs["language"] is None else theirs["premium"])
        if theirs["verdict"] is not None:
            assert row["difference_verdict"] == theirs["verdict"]


def test_the_report_answers_by_bytes_per_token_with_sizes(content: ReportContent, folder: Path) -> None:
    [given] = answers(content)
    [statement] = given.statements
    assert "Baseline: small (" in given.introduction
    assert statement.head.startswith("Most bytes per token: large (")
    assert re.search(r"needs [\d.]+ % fewer tokens than small \(\d+ tokens.*\): significantly better", statement.text)
    assert "Fewest tokens by language: large (de and en)." in statement.text
    assert any("larger vocabulary" in limit.text for limit in caveats(content))
    text = page(content, folder)
    assert "it was not measured here" not in text
    assert "No tokenizers are compared," not in text
    assert 'id="table-existing"' in text
    assert 'id="table-scoreboard"' not in text


def test_tables_and_figures_of_existing_tokenizers(content: ReportContent) -> None:
    made = exhibits(content, "existing")
    ranking = made["existing"]
    assert isinstance(ranking, Table)
    assert ranking.frame["variant"].to_list() == ["large", "medium", "small"]
    assert ranking.best == {(0, "bytes_per_token")}
    costs = made["existing-costs"]
    assert isinstance(costs, Table)
    words = sum(len(document["text"].split()) for document in sentences())
    tokens = ranking.frame["tokens"].to_list()
    assert costs.frame["tokens_per_1000_words"].to_list() == pytest.approx([1000 * number / words for number in tokens])
    assert costs.frame["words_in_context"].to_list() == pytest.approx([8192 * words / number for number in tokens])
    assert {"existing-bytes-per-token-books", "existing-premium-books"} <= made.keys()


def test_the_leaderboard_has_one_best_tokenizer(content: ReportContent, folder: Path) -> None:
    board = pl.read_csv(folder / "leaderboard.csv").filter(measure="tokens")
    assert dict(board.select("variant", "verdict").iter_rows()) == {
        "small": "worse",
        "medium": "worse",
        "large": "best",
    }
    assert dict(board.select("variant", "baseline").iter_rows()) == dict.fromkeys(SIZES, "small")
    assert answer(folder).startswith("On books: large (")


def test_built_and_existing_tokenizers_are_two_groups(mixed: ReportContent, mixed_folder: Path) -> None:
    by_kind = {given.size: given for given in answers(mixed)}
    assert by_kind.keys() == {None, 512}
    assert [given.hidden for given in by_kind.values()] == [False, False]
    board = exhibits(mixed, "summary")["scoreboard"]
    assert isinstance(board, Table)
    assert set(board.frame["variant"]) == {BUILT, "bpe_greedy"}
    ranking = exhibits(mixed, "existing")["existing"]
    assert isinstance(ranking, Table)
    assert set(ranking.frame["variant"]) == set(SIZES)
    verdicts = pl.read_csv(mixed_folder / "leaderboard.csv").filter(measure="tokens", verdict="best")
    assert len(verdicts) == 2
    assert "large" in verdicts["variant"]
    assert "it was not measured here" not in page(mixed, mixed_folder)
