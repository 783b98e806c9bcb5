"""Figures: the same at every run, legible at every width, with titles of all marks.

Published results in a checkout: pages, tidy tables and the figures that a page shows, without renderings.
"""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from tests.conftest import tool_of
from tests.support.pages import links, tracked_files
from tests.support.small_report import PARTS, SIZES, VARIANTS, altered, whole
from tokbench.metric.pretoken_words import NO_BLANKS
from tokbench.report.exhibits import Table
from tokbench.report.figures import differences, dots, scatter
from tokbench.report.figures.differences import cliques
from tokbench.report.figures.dots import _shift_between, _spread
from tokbench.report.figures.style import COLUMN, FULL, SCREEN, TooltipFigure, inline, save, styles, svg
from tokbench.report.html import drawings, tables, write_figures
from tokbench.report.sections.intrinsic import intrinsic
from tokbench.report.sections.subjects import OTHERS, by_subject
from tokbench.report.typeset import markdown
from tokbench.statistics.inputs import IN_PARTS


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    points = {(variant, size): (1e9 + 1e6 * i, 40.0 + i) for i, (variant, size) in enumerate(
        (variant, size) for variant in VARIANTS for size in SIZES)}  # fmt: skip
    look = styles(VARIANTS)

    def draw() -> str:
        return svg(scatter.draw(points, VARIANTS, look, "tokens", "accuracy (%)", correlation=(-0.5, 8), width=COLUMN))

    first = draw()
    assert first == draw()
    assert "dc:date" not in first
    assert "Matplotlib" not in first
    paths = save(
        dots.draw({key: y for key, (_, y) in points.items()}, VARIANTS, look, "accuracy (%)"), tmp_path / "dots"
    )
    assert [path.name for path in paths] == ["dots.svg", "dots.png"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_a_variant_keeps_its_style_when_others_are_added() -> None:
    many = [f"variant_{index}" for index in range(21)]
    assert all(styles(many)[name] == style for name, style in styles(many[:5]).items())
    assert len({style.colour for style in styles(many).values()}) == len(many)


def test_variants_differ_without_colour() -> None:
    looks = list(styles([str(index) for index in range(28)]).values())
    assert len({style.mark for style in looks[:7]}) == 7
    assert len({(style.mark, style.line) for style in looks[:14]}) == 14
    assert len({style.line for style in looks[:4]}) == 4
    for place in range(7):
        assert len({style.mark for style in looks[place::7]}) == len({style.line for style in looks[place::7]}) == 4


@pytest.mark.parametrize("width", [COLUMN, FULL])
def test_labels_cover_neither_each_other_nor_the_frame(width: float) -> None:
    names = [f"variant_{index:02}" for index in range(8)]
    points = {(name, 1024): (1e6 + 300.0 * (i % 3), 50 + 0.01 * (i % 2)) for i, name in enumerate(names)}
    figure = scatter.draw(points, names, styles(names), "tokens", "accuracy (%)", width=width)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert len(boxes) == len(names)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


@pytest.mark.parametrize("count", [2, 6, 18])
def test_matrices_of_any_size_keep_their_names_on_the_page(count: int) -> None:
    names = [f"pathpiece_ngram_variant_{index}" for index in range(count)]
    values = {
        (a, b): None if i == j + 1 else 10.0 ** -(i % 7) for i, a in enumerate(names) for j, b in enumerate(names)
    }
    figure = differences.draw_p_values(values, names, width=COLUMN)
    figure.draw_without_rendering()
    labels = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == count
    assert all(label.x0 >= 0 for label in labels)
    heights = sorted((label.y0, label.y1) for label in labels)
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(heights))


def test_labels_at_the_end_of_lines_are_moved_apart() -> None:
    assert _spread([1.0, 5.0], 1.0) == [1.0, 5.0]
    assert _spread([1.0, 1.0, 1.0], 1.0) == [0.0, 1.0, 2.0]
    assert _shift_between([-1.0, 0.0, 5.0], 1.0, 0.0, 5.0) == [0.0, 1.0, 5.0]
    assert _shift_between([2.0, 4.0, 6.0], 1.0, 0.0, 5.0) == [2.0, 4.0, 5.0]


def test_bars_join_variants_without_a_significant_difference() -> None:
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0, "d": 9.0}, 1.0) == [["a", "b"], ["b", "c"]]
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0}, 2.0) == [["a", "b", "c"]]
    assert cliques({"a": 1.0, "b": 3.0}, 1.5) == []


@pytest.mark.parametrize("count", [2, 5, 26])
def test_average_ranks_keep_their_names_on_the_page(count: int) -> None:
    ranks = {f"pathpiece_ngram_variant_{index}": 1 + 0.9 * index for index in range(count)}
    figure = differences.draw_critical_difference(ranks, 3.0, styles(list(ranks)), width=FULL)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if "variant" in text.get_text()]
    assert len(boxes) == count
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_differences_are_hollow_if_the_interval_contains_zero() -> None:
    rows = [differences.Row("a − b", 1.0, (0.5, 1.5), "p"), differences.Row("a − c", 0.1, (-0.5, 0.7), "p")]
    figure = differences.draw(rows, "points", heading="p")
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [mark.get_markerfacecolor() == "white" for mark in marks] == [False, True]


def test_a_verdict_decides_over_the_interval() -> None:
    rows = [
        differences.Row("a", 1.0, (0.5, 1.5), significant=False),
        differences.Row("b", 0.1, (-0.5, 0.7), significant=True),
        differences.Row("c", 0.1, (-0.5, 0.7), tested=False, significant=False),
    ]
    lines = differences.draw(rows, "points").axes[0].lines
    marks = [(line.get_marker(), line.get_markerfacecolor() == "white") for line in lines if line.get_marker() in "ox"]
    assert marks == [("o", True), ("o", False), ("x", True)]


def test_differences_are_printed_with_their_intervals() -> None:
    rows = [differences.Row("a", 5.04, (3.9, 6.0)), differences.Row("b", -0.02, (-0.5, 0.04), "p = 0.9")]
    texts = [text.get_text() for text in differences.draw(rows, "tokens (%)", unit="%", decimals=1).axes[0].texts]
    assert texts == ["+5.0 % [3.9, 6.0]", "0.0 % [−0.5, 0.0]  p = 0.9"]


@pytest.mark.parametrize(("higher_is_better", "mean"), [(False, 1.0), (True, -1.0)])
def test_worse_values_are_to_the_right(higher_is_better: bool, mean: float) -> None:
    rows = [differences.Row("a", mean, (mean - 0.5, mean + 0.5)), differences.Row("b", -mean, None)]
    axes = differences.draw(rows, "points", against="bpe", higher_is_better=higher_is_better).axes[0]
    across = [axes.transData.transform((place, 0))[0] for place in (mean, 0, -mean)]
    assert across[0] > across[1] > across[2]
    left, right = axes.texts[-2:]
    assert (left.get_text(), right.get_text()) == ("← better than bpe", "worse than bpe →")
    assert left.get_window_extent().x1 < across[1] < right.get_window_extent().x0
    assert left.get_window_extent().y1 <= axes.xaxis.label.get_window_extent().y0 + 1


def test_the_variant_that_was_asked_for_is_bold() -> None:
    rows = [differences.Row("a", 1.0, None), differences.Row("mine", 2.0, None, highlighted=True)]
    axes = differences.draw(rows, "points").axes[0]
    assert [label.get_fontweight() for label in axes.get_yticklabels()] == ["normal", "bold"]
    assert [text.get_fontweight() for text in axes.texts] == ["normal", "bold"]


@pytest.mark.parametrize(
    "name",
    [
        "behind-the-best-tokens-books-1024",
        "bits-differences-books-tiny-3-seeds-offline-1024",
        "bits-against-tokens-books",
        "curves-tiny",
        "average-ranks-tiny-offline",
    ],
)
def test_the_variant_of_the_configuration_has_heavier_marks(name: str) -> None:
    plain, marked = (
        next(svg(one.draw(width=SCREEN)) for one in drawings(replace(whole(), highlight=highlight)) if one.name == name)
        for highlight in ("", "unigram_greedy")
    )
    assert plain != marked


def test_every_mark_has_a_title() -> None:
    """Each text that a figure has to tell is a title of the page's SVG, in the group that is lit together."""
    for number, drawing in enumerate(drawings(whole())):
        figure = drawing.draw(width=SCREEN)
        assert isinstance(figure, TooltipFigure)
        expected = [(one.group, text) for one in figure.tooltips for text in one.texts]
        assert expected, drawing.name
        page = inline(figure, f"f{number}", drawing.caption)
        root = ElementTree.fromstring(re.sub(r"xlink:", "", page))
        found = [
            (group.get("data-group"), title.text)
            for group in root.iter() if group.get("class") == "told"
            for title in group.iter() if title.tag.endswith("title")
        ]  # fmt: skip
        assert sorted(found) == sorted(expected), drawing.name


def test_a_file_bears_no_trace_of_the_pointer() -> None:
    values = {(variant, 1024): 1.5 for variant in VARIANTS}
    assert "told" not in svg(dots.draw(values, VARIANTS, styles(VARIANTS), "bits per byte"))


def test_variants_of_one_size_each_have_it_next_to_their_names() -> None:
    """Existing tokenizers; a legend with as many sizes as rows would be wider than the figure."""
    values = {(variant, 1000 + index): 1.5 for index, variant in enumerate(VARIANTS)}
    figure = dots.draw(values, VARIANTS, styles(VARIANTS), "bits per byte")
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [f"{variant}, {1000 + index:,}" for index, variant in enumerate(VARIANTS)]
    assert not figure.legends
    figure = dots.draw(values | {(VARIANTS[0], 5000): 2.0}, VARIANTS, styles(VARIANTS), "bits per byte")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(VARIANTS)
    assert len(figure.legends) == 1


def test_colours_of_equal_grey_have_different_marks() -> None:
    """In black and white, variants of one lightness still differ in their mark or line."""
    looks = list(styles([str(index) for index in range(28)]).values())
    assert len({(look.colour, look.mark, look.line) for look in looks}) == len(looks)


def test_every_figure_is_written_for_page_and_column_with_its_caption(tmp_path: Path) -> None:
    part = altered(whole(), **dict.fromkeys(set(PARTS) - {"intrinsic"}))
    write_figures(part, tmp_path / "figures")
    names = [drawing.name for drawing in drawings(part)]
    assert names == ["corpus_token_count-books", "renyi_efficiency_2.5-books"]
    forms = (".svg", ".png", "-column.svg", "-column.png", ".md")
    assert sorted(path.name for path in (tmp_path / "figures").glob("[!.]*")) == sorted(
        n + f for n in names for f in forms
    )
    caption = "Corpus token count on the text of the evaluation split of books, by variant and vocabulary size: tokens."
    [says] = [drawing.says for drawing in drawings(part) if drawing.name == names[0]]
    assert says
    source = "Source: tables/intrinsic.csv, from intrinsic/VARIANT/SIZE.json."
    assert (tmp_path / "figures" / f"{names[0]}.md").read_text() == f"{caption} {source}\n\n{markdown(says)}\n"
    for form in (".svg", "-column.svg"):
        root = ElementTree.parse(tmp_path / "figures" / f"{names[0]}{form}").getroot()
        assert [(one.tag.partition("}")[2], one.text) for one in root][:2] == [("title", caption), ("desc", says)]
        assert root.get("role") == "img"


def test_a_variant_of_one_size_has_a_mark_and_no_line() -> None:
    averages = {("1,024", "bpe"): 5.0, ("2,048", "bpe"): 4.0, ("2,048", "sage"): 4.5}
    drawn = dots.draw_by_model(averages, ["1,024", "2,048"], ["bpe", "sage", "none"], styles(["bpe", "sage"]), "tokens")
    assert [np.size(line.get_xdata()) for line in drawn.axes[0].lines] == [2, 1]


ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results" / "published"
LARGEST = 3.25 * 2**20
"""Bytes of the results that a checkout has, at most: no renderings, which `make published-results` makes again."""
KEPT = (
    "*/README.md", "*/.tokbench.json", "*/comparison.csv", "*/provenance.csv", "*/tidy/*.csv", "*/tidy/*.parquet",
    "existing/leaderboard.csv", "existing/speeds.csv",
)  # fmt: skip
"""Tracked files other than the figures that a page shows."""


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    return tracked_files()


@pytest.fixture(scope="module")
def renderer() -> ModuleType:
    return tool_of("render_published")


@pytest.mark.parametrize("kept", sorted(PUBLISHED.glob("*/tidy/intrinsic.parquet")), ids=lambda path: path.parts[-3])
def test_pages_name_vocabularies_smaller_than_their_size(kept: Path) -> None:
    sizes = pl.read_parquet(kept).filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    page = (kept.parents[1] / "README.md").read_text(encoding="utf-8")
    assert not [tokens for tokens in set(sizes["value"]) if f"{tokens:,.0f}" not in page]


@pytest.mark.parametrize("kept", sorted(PUBLISHED.glob("*/tidy/intrinsic.parquet")), ids=lambda path: path.parts[-3])
def test_kept_measures_bear_the_names_that_they_have_today(kept: Path) -> None:
    measures = pl.read_parquet(kept).filter(~pl.col("metric").is_in(IN_PARTS)).select("metric", "definition").rows()
    assert OTHERS not in [subject for subject, _ in by_subject(measures)]


def test_the_gallery_has_the_scoreboard_of_the_recorded_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study's fourteen novels are by twelve authors, who are its units."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    reports = tool_of("build_reports")
    kept = PUBLISHED / "study_models"
    assert pl.read_parquet(kept / "tidy" / "document_bits.parquet")["document"].n_unique() == 14
    scores = reports.with_scoreboard(kept).frames["scoreboard"].filter(measure="bits_per_byte")
    assert set(scores["n"]) == {12}
    newer = PUBLISHED / "newer"
    assert (
        reports.with_scoreboard(newer)
        .frames["scoreboard"]
        .equals(pl.read_parquet(newer / "tidy" / "scoreboard.parquet"))
    ), "a kept one is not computed again"


def test_kept_results_are_small(tracked: list[Path]) -> None:
    size = sum(path.stat().st_size for path in tracked if PUBLISHED in path.parents)
    assert 0 < size < LARGEST, (
        f"{size:,} bytes; keep renderings out, see make published-results, and pack tables with tools/pack_tables.py"
    )


def test_a_kept_table_is_packed_and_reads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table = pl.DataFrame(
        {
            "variant": ["a", "b"] * 500,
            "size": range(1000),
            "value": [number / 7 for number in range(999)] + [None],
        }
    )
    table.write_parquet(path)
    before = path.stat().st_size
    pack = tool_of("pack_tables").pack
    assert pack(path) == before - path.stat().st_size > 0
    assert pl.read_parquet(path).equals(table)
    assert pl.read_parquet(path).schema == table.schema
    assert pack(path) == 0
    assert [*tmp_path.iterdir()] == [path]


def test_no_rendering_is_tracked(tracked: list[Path]) -> None:
    """A table that is typeset, or a figure that no page shows."""
    pages = {path: path.read_text(encoding="utf-8") for path in tracked if path.suffix == ".md"}
    shown = {(page.parent / link).resolve() for page, text in pages.items() for link in links(text)}
    kept = [path for path in tracked if PUBLISHED in path.parents]
    renderings = [
        str(path.relative_to(ROOT))
        for path in kept
        if path not in shown and not any(path.relative_to(PUBLISHED).match(pattern) for pattern in KEPT)
    ]
    assert kept
    assert renderings == []


def test_tidy_tables_are_those_that_are_declared(renderer: ModuleType) -> None:
    assert len(renderer.experiments()) == 19
    for place in renderer.experiments():
        named = {table.name: table for table in renderer.DECLARED}
        for path in (place / "tidy").iterdir():
            table = named[path.stem]
            frame = renderer.kept(place / "tidy", table)
            table.check(frame)
        assert tables(renderer.content_of(place))


def test_a_figure_is_drawn_as_it_is_kept(renderer: ModuleType, tmp_path: Path) -> None:
    [kept] = (PUBLISHED / "novels" / "figures").glob("corpus_token_count-books.svg")
    [drawing] = [one for one in drawings(renderer.content_of(PUBLISHED / "novels")) if one.name == kept.stem]
    save(drawing.draw(width=FULL), tmp_path / drawing.name)
    assert (tmp_path / kept.name).read_bytes() == kept.read_bytes()


def test_balancing_is_drawn_where_a_variant_has_its_like(renderer: ModuleType) -> None:
    """Figure 5 of ByteSpan: the change of fertility by language; nothing where no two variants differ in that alone."""
    drawn = {
        name: [one for one in drawings(renderer.content_of(renderer.PUBLISHED / name)) if "balancing" in one.name]
        for name in ("bytespan_languages", "bytespan")
    }
    [figure] = drawn["bytespan_languages"]
    assert drawn["bytespan"] == []
    assert figure.variants == ["monotonic_balanced", "combined_balanced"]
    assert figure.says == (
        "monotonic_balanced: lower in 14 of 19 languages, mean -0.028. "
        "combined_balanced: lower in 14 of 19 languages, mean -0.025."
    )
    assert figure.caption.endswith("Left out, because their words are not pre-tokens: hi, ja and zh.")


def test_a_subject_without_any_value_has_a_sentence_in_place_of_a_table(renderer: ModuleType) -> None:
    """Texts of 22 languages have no words by pre-tokens or spaces; each of the languages with blanks has."""
    section = intrinsic(renderer.content_of(renderer.PUBLISHED / "newer"))
    words = [sentence for sentence in section.missing if "okens per word" in sentence]
    assert [sentence.partition(":")[0] for sentence in words] == ["languages", "test"]
    for sentence in words:
        assert sentence.count(NO_BLANKS) == 1
        assert "No tokenizer has a value of tokens per space-separated word, tokens per pre-token" in sentence
    names = {one.name for one in section.exhibits if isinstance(one, Table)}
    assert "intrinsic-test-words" not in names
    assert {"intrinsic-test-words-languages", "intrinsic-novels-words"} <= names
