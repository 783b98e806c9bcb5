"""What columns of the page's tables are headed, and which of them stay in view."""

import polars as pl
import pytest

from tests.support.small_report import altered, whole
from tokbench.report.html import _shown
from tokbench.report.layout import Table
from tokbench.report.sections.board import scoreboard
from tokbench.statistics.scoreboard import ACCURACY


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (["rank", "variant", "average"], ["", "name", ""]),
        (["corpus", "metric", "variant"], ["", "", "name"]),
        (["parallel", "tokenizers", "value"], ["", "name", ""]),
        (["model", "suite", "metric"], ["", "", "name"]),
        (["size", "a", "b", "shared"], ["", "pair name", "pair second name", ""]),
        (["model", "suite", "size"], ["name", "", ""]),
    ],
)
def test_what_a_row_is_of_stays_in_view(columns: list[str], kept: list[str]) -> None:
    table = Table("t", "", pl.DataFrame({name: ["x"] for name in columns}))
    assert _shown(whole(), table, 1).names == kept


@pytest.mark.parametrize(
    ("models", "suites", "headings", "said"),
    [
        (("tiny",), ("offline",), ["tiny on offline"], "questions answered right"),
        (("tiny", "large"), ("offline",), ["tiny", "large"], "questions of offline answered right"),
        (("tiny",), ("offline", "other"), ["offline", "other"], "questions that tiny answered right"),
        (("tiny", "large"), ("offline", "other"), ["tiny on offline", "tiny on other", "large on offline",
                                                   "large on other"], "questions answered right"),
    ],
)  # fmt: skip
def test_columns_of_accuracy_are_headed_by_what_tells_them_apart(
    models: tuple[str, ...], suites: tuple[str, ...], headings: list[str], said: str
) -> None:
    board = whole().frames["scoreboard"]
    of = board.filter(measure=ACCURACY)
    parts = [of.with_columns(model=pl.lit(model), suite=pl.lit(suite)) for model in models for suite in suites]
    made = pl.concat([board.filter(pl.col("measure") != ACCURACY), *parts])
    table = scoreboard(altered(whole(), scoreboard=made, models=list(models)))
    assert table is not None
    columns = [column for column in table.columns if column.header.startswith("accuracy")]
    assert [column.header for column in columns] == [f"accuracy, {one} (%)" for one in headings]
    assert {column.about.partition(",")[0] for column in columns} == {said}
