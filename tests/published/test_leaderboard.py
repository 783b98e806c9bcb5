"""The leaderboard of existing tokenizers: its rows are those of the kept tables, and its page shows them."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.report.test_own_text import browsed
from tests.report.test_page import BROWSER
from tools import leaderboard_page

ROOT = Path(__file__).parents[2]
TRIAL = """<pre id="found"></pre><script>
const titles = () => Array.from(document.querySelectorAll("tbody th"), (cell) => cell.firstChild.textContent);
const found = { first: titles() };
const [select, field] = [document.querySelector("select"), document.querySelector("input")];
select.value = "languages/hin"; select.dispatchEvent(new Event("change")); found.hindi = titles();
const size = Array.from(document.querySelectorAll("thead button")).find((one) => one.textContent === "Vocabulary");
size.click(); found.size = titles();
found.sorted = document.querySelector("th[aria-sort]").getAttribute("aria-sort");
field.value = "openai"; field.dispatchEvent(new Event("input")); found.filtered = titles();
found.names = Array.from(select.options, (one) => one.text);
document.getElementById("found").textContent = JSON.stringify(found);
</script>"""


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = ROOT / "tools" / "make_leaderboard.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.fixture(scope="module")
def board(maker: ModuleType) -> pl.DataFrame:
    kept: pl.DataFrame = maker.read_board()
    return kept


def ranked(board: pl.DataFrame, text: str, language: str, column: str) -> list[str]:
    """Titles by a column, the largest first, and then those that are not ranked, by the same column."""
    rows = board.filter(text=text, language=language).sort("ranked", column, descending=True, maintain_order=True)
    return [row["title"] if row["ranked"] else f"{row['title']} †" for row in rows.iter_rows(named=True)]


def test_the_leaderboard_is_that_of_the_kept_tables(maker: ModuleType, board: pl.DataFrame) -> None:
    assert_frame_equal(maker.leaderboard().with_columns(pl.col("language").fill_null("")), board)


def test_every_tokenizer_has_a_row_on_every_text_and_language(maker: ModuleType, board: pl.DataFrame) -> None:
    experiment, _ = maker.experiment_of(maker.PLACE)
    assert set(board["variant"]) == set(experiment.external)
    assert set(board["text"]) == set(experiment.corpora) == set(maker.TEXTS)
    for (text, language), part in board.group_by("text", "language"):
        assert len(part) == len(experiment.external), (text, language)


def test_tables_of_the_page_are_those_of_today(maker: ModuleType, board: pl.DataFrame) -> None:
    text = maker.README.read_text(encoding="utf-8")
    assert {name for _, name, _ in maker.BLOCK.findall(text)} == {"sources", "texts", "premiums", "measures"}
    assert maker.with_tables(text, board) == text


def test_a_premium_is_the_tokens_of_a_language_over_those_of_english(board: pl.DataFrame) -> None:
    parallel = board.filter(text="languages", variant="gpt2")
    tokens = dict(parallel.select("language", "tokens").iter_rows())
    premiums = dict(parallel.select("language", "premium").iter_rows())
    others = [tokens[one] / tokens["eng"] for one in tokens if one not in ("", "eng")]
    assert premiums["hin"] == pytest.approx(tokens["hin"] / tokens["eng"])
    assert premiums[""] == pytest.approx(sum(others) / len(others))


def test_languages_without_blanks_have_no_words(board: pl.DataFrame) -> None:
    parallel = board.filter(text="languages")
    without = {"cmn_Hans", "cmn_Hant", "jpn", "khm", "lao", "mya", "tha"}
    null = parallel.filter(pl.col("words_in_one_token").is_null())["language"].unique()
    assert set(null) == {*without, ""}


def test_values_of_the_page_are_those_of_the_leaderboard(maker: ModuleType, board: pl.DataFrame) -> None:
    html = leaderboard_page.page(board)
    data = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', html)[0])
    names = [one["variant"] for one in data["tokenizers"]]
    for (text, language), part in board.group_by("text", "language"):
        shown = data["values"][f"{text}/{language}" if language else text]
        rows = [dict(zip(data["columns"], values, strict=True)) for values in shown]
        expected = dict(part.select("variant", "bytes_per_token").iter_rows())
        assert {names[row["tokenizer"]]: row["bytes_per_token"] for row in rows} == pytest.approx(expected, rel=1e-4)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_the_page_sorts_filters_and_changes_its_text(maker: ModuleType, board: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "leaderboard.html"
    path.write_text(leaderboard_page.page(board).replace("</body>", f"{TRIAL}</body>"), encoding="utf-8")
    found = browsed(path, tmp_path)
    assert found["first"] == ranked(board, "languages", "", "bytes_per_token")
    assert found["hindi"] == ranked(board, "languages", "hin", "bytes_per_token")
    rows = board.filter(text="languages", language="hin").sort("bytes_per_token", descending=True)
    assert found["size"] == ranked(rows, "languages", "hin", "size")
    assert found["sorted"] == "descending"
    makers = dict(board.select("title", "maker").iter_rows())
    assert found["filtered"]
    assert {makers[title.removesuffix(" †")] for title in found["filtered"]} == {"OpenAI"}
    assert "Hindi" in found["names"]
