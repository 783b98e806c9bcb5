"""Figures: the same at every run, legible at every width, and able to say what their marks are."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.small_report import PARTS, SIZES, VARIANTS, altered, whole
from tokbench.report.figures import by_model, by_variant, critical_difference, differences, p_values, scatter
from tokbench.report.figures.by_model import _apart, _within
from tokbench.report.figures.critical_difference import cliques
from tokbench.report.figures.pointer import TooltipFigure
from tokbench.report.figures.style import COLUMN, FULL, SCREEN, inline, save, styles, svg
from tokbench.report.files import write_figures
from tokbench.report.html import drawings
from tokbench.report.typeset import markdown


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
        by_variant.draw({key: y for key, (_, y) in points.items()}, VARIANTS, look, "accuracy (%)"), tmp_path / "dots"
    )
    assert [path.name for path in paths] == ["dots.svg", "dots.png"]
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_a_variant_keeps_its_style_when_others_are_added() -> None:
    many = [f"variant_{index}" for index in range(21)]
    assert all(styles(many)[name] == style for name, style in styles(many[:5]).items())
    assert len({style.colour for style in styles(many).values()}) == len(many)


def test_variants_are_told_apart_without_colour() -> None:
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
    figure = p_values.draw(values, names, width=COLUMN)
    figure.draw_without_rendering()
    labels = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == count
    assert all(label.x0 >= 0 for label in labels)
    heights = sorted((label.y0, label.y1) for label in labels)
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(heights))


def test_labels_at_the_end_of_lines_are_moved_apart() -> None:
    assert _apart([1.0, 5.0], 1.0) == [1.0, 5.0]
    assert _apart([1.0, 1.0, 1.0], 1.0) == [0.0, 1.0, 2.0]
    assert _within([-1.0, 0.0, 5.0], 1.0, 0.0, 5.0) == [0.0, 1.0, 5.0]
    assert _within([2.0, 4.0, 6.0], 1.0, 0.0, 5.0) == [2.0, 4.0, 5.0]


def test_bars_join_variants_that_are_not_told_apart() -> None:
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0, "d": 9.0}, 1.0) == [["a", "b"], ["b", "c"]]
    assert cliques({"a": 1.0, "b": 2.0, "c": 3.0}, 2.0) == [["a", "b", "c"]]
    assert cliques({"a": 1.0, "b": 3.0}, 1.5) == []


@pytest.mark.parametrize("count", [2, 5, 26])
def test_average_ranks_keep_their_names_on_the_page(count: int) -> None:
    ranks = {f"pathpiece_ngram_variant_{index}": 1 + 0.9 * index for index in range(count)}
    figure = critical_difference.draw(ranks, 3.0, styles(list(ranks)), width=FULL)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if "variant" in text.get_text()]
    assert len(boxes) == count
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_differences_are_hollow_where_the_interval_holds_zero() -> None:
    rows = [differences.Row("a − b", 1.0, (0.5, 1.5), "p"), differences.Row("a − c", 0.1, (-0.5, 0.7), "p")]
    figure = differences.draw(rows, "points", seen_from=0.4, heading="p")
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [mark.get_markerfacecolor() == "white" for mark in marks] == [False, True]


def test_every_mark_says_what_it_is() -> None:
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
    assert "told" not in svg(by_variant.draw(values, VARIANTS, styles(VARIANTS), "bits per byte"))


def test_no_two_colours_are_alike_in_grey_and_mark() -> None:
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
    drawn = by_model.draw(averages, ["1,024", "2,048"], ["bpe", "sage", "none"], styles(["bpe", "sage"]), "tokens")
    assert [np.size(line.get_xdata()) for line in drawn.axes[0].lines] == [2, 1]
