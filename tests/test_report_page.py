"""The report's page: well formed, without links to elsewhere, the same from the same content, with names of files."""

import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import IDENTIFIERS, PARTS, VARIANTS, WHY, accuracy, altered, intrinsic, made, whole
from tokbench.report.content import ReportContent
from tokbench.report.figures.shared import lean, share_letters
from tokbench.report.figures.style import SCREEN, svg
from tokbench.report.html import drawings, render, sections, tables
from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.intervals import average_intervals
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size


class Checker(HTMLParser):
    """Collects ids, links and text; fails on elements that are not closed in order."""

    VOID = frozenset({"meta", "input", "br", "link", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name.rpartition(":")[2] in ("href", "src", "action", "data"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(content: ReportContent, folder: Path) -> tuple[str, Checker]:
    path = folder / "report.html"
    render(content, path)
    page = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    links = {link for link in checker.links if not link.startswith("data:image/png;base64,")}
    assert {link for link in links if not link.startswith("#")} == set()
    assert {link[1:] for link in links} <= set(checker.ids)
    assert not re.search(r"https?://|url\((?!#)|@import", page)
    assert {"experiment", "tokenizers", "configuration"} <= set(checker.ids)
    return page, checker


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Checker, Path]:
    """The page of the whole report, what stands on it, and the folder in which it was written."""
    folder = tmp_path_factory.mktemp("whole")
    return *rendered(whole(), folder), folder


def test_the_whole_report(shown: tuple[str, Checker, Path]) -> None:
    page, checker, folder = shown
    text = " ".join(checker.text)
    assert all(variant in text for variant in VARIANTS)
    assert "<title>A &lt;small&gt; experiment &amp; its report</title>" in page
    assert "# &lt;script&gt;" in page
    assert {*IDENTIFIERS, "summary", "evidence", "published"} <= set(checker.ids)
    assert checker.ids.index("summary") < checker.ids.index("evidence") < checker.ids.index("intrinsic")
    assert WHY in text
    assert page.count("<svg") == 1 + len(drawings(whole())) == 25, "figures, and their letters"
    assert page.count("<table") == len(tables(whole()))
    assert [path.name for path in folder.iterdir()] == ["report.html"]


def test_the_same_content_gives_the_same_page(shown: tuple[str, Checker, Path], tmp_path: Path) -> None:
    """The content is made anew."""
    assert rendered(made(), tmp_path)[0] == shown[0]


def test_figures_are_told_by_their_findings(shown: tuple[str, Checker, Path]) -> None:
    page, _, _ = shown
    assert 'aria-label="At a vocabulary of 2,048, random needs the fewest tokens for books: 114,952' in page
    drawn = {drawing.name: drawing.says for drawing in drawings(whole())}
    assert not [name for name, says in drawn.items() if not says]
    assert drawn["curves-tiny"].endswith("It is per token: tokenizers cannot be compared by it.")
    assert not re.search(r">\s+<", page[page.index("<svg") : page.index("</svg>")])


def test_a_page_has_no_node_of_a_figure_that_says_nothing(shown: tuple[str, str, list[str]]) -> None:
    """Groups without attributes, and Matplotlib's style sheets, of which the page's own has what they say."""
    drawn = (
        '<svg><defs>\n<style type="text/css">*{stroke-linejoin: round}</style>\n</defs>\n<g id="f"><g id="l"/>'
        '<g class="told"><g><path d="M 0 0"/></g></g><g id="m"><use href="#m"/></g><g></g></g></svg>'
    )
    assert lean(drawn) == (
        '<svg><defs></defs><g class="told"><path d="M 0 0"/></g><g id="m"><use href="#m"/></g></svg>'
    )
    page = shown[0]
    assert page.count("<style") == 1
    assert "<g>" not in page
    assert "<g/>" not in page
    assert ".drawing svg * { stroke-linejoin: round; stroke-linecap: butt; }" in page
    assert "*{stroke-linejoin: round; stroke-linecap: butt}" in svg(drawings(whole())[0].draw(width=SCREEN))


def test_letters_of_all_figures_are_defined_once() -> None:
    """What refers to a letter refers to its shape, at the same place; other references and marks stay."""
    letter = '<path id="{}" d="M 1 2" transform="scale(0.015625)"/>'
    figure = (
        '<svg><!-- ab -->\n<g id="{0}-text_1"><defs>\n' + letter.format("{0}-A") + "\n</defs>"
        '<use href="#{0}-A"/><use href="#{0}-A" x="63.62"/>'
        '<use href="#{0}-A" transform="translate(1 2) scale(0.7)"/></g>'
        '<defs><path id="{0}-m" d="M 0 0"/></defs><use href="#{0}-m" x="1" y="2"/></svg>'
    )
    second = figure.format("f2").replace("M 1 2", "M 3 4")
    letters, shared = share_letters([lean(one) for one in (figure.format("f1"), second, figure.format("f3"))])
    assert re.findall(r'<path id="(c\d)" d="([^"]*)"', letters) == [("c0", "M 1 2"), ("c1", "M 3 4")]
    body = '<svg><use href="#c1"/><use href="#c1" x="63.62"/><use href="#c1" transform="translate(1 2) scale(0.7)"'
    assert shared[1].startswith(body)
    assert [one.replace("f3", "f1") for one in (shared[0], shared[2])] == [shared[0]] * 2
    assert shared[0].endswith('<defs><path id="f1-m" d="M 0 0"/></defs><use href="#f1-m" x="1" y="2"/></svg>')


def test_intrinsic_stages_alone(tmp_path: Path) -> None:
    absent = dict.fromkeys(set(PARTS) - {"intrinsic", "overlaps"})
    why = {"accuracy": "The configuration trains no language models."}
    content = altered(whole(), **absent, missing=why)
    page, _ = rendered(content, tmp_path)
    assert page.count("The configuration trains no language models.") == 1
    assert "Not here: downstream accuracy. The configuration trains no language models." in page
    assert re.search(r"Not here: [^.]*Venn diagram[^.]*\. This run gave no such table", page, re.IGNORECASE)
    assert page.count("This run gave no such table") == 1
    assert "published" not in [section.identifier for section in sections(content)]


def test_one_size_and_two_variants(tmp_path: Path) -> None:
    scores = accuracy().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    measures = intrinsic().filter(pl.col("size") == 1024, pl.col("variant").is_in(["bpe", "sage"]))
    content = altered(
        whole(), recipes={name: whole().recipes[name] for name in ("bpe", "sage")}, accuracy=scores, intrinsic=measures,
        ranks=averages(scores), ranks_by_size=averages_by_size(scores), comparisons=compare_pairs(scores),
        intervals=average_intervals(scores), power=power_table(compare_pairs(scores)), seeds=None,
        critical_differences=critical_differences(scores),
        r_squared=between_sizes(scores), correlations=metric_with_accuracy(measures, scores), venn=None, published=None,
        metric_correlations=between_metrics(measures), bits_per_byte=None, curves=None, overlaps=None,
    )  # fmt: skip
    page, checker = rendered(content, tmp_path)
    assert "Not here: R² of accuracies at two vocabulary sizes. No model was tested at more than one." in page
    assert "2 in common; three are needed" in " ".join(checker.text)


def test_percentages_and_times_are_told_as_such(shown: tuple[str, Checker, Path]) -> None:
    """Where a number is asked of: a share stands under "(%)", and a time is in no table."""
    page, _, _ = shown
    assert re.search(r'<th [^>]*data-kind="percent"[^>]*>accuracy, tiny on offline \(%\)', page)


def test_every_table_and_figure_names_its_files(shown: tuple[str, Checker, Path]) -> None:
    """All but the settings themselves: a tidy table, and the results behind it where a number has one row or column."""
    content = whole()
    for exhibit in [*tables(content), *drawings(content)]:
        assert exhibit.source or exhibit.name == "provenance", exhibit.name
    page, checker, _ = shown
    assert 'data-files="downstream/{model}/{variant}/{size}/{suite}.json"' in page
    assert 'data-at="{&#34;size&#34;: 1024}"' in page
    assert {f"recipe-{variant}" for variant in VARIANTS} <= set(checker.ids)
    parts = {
        part for exhibit in [*tables(content), *drawings(content)] if exhibit.source for part in exhibit.source.tables
    }
    named = {Path(part).stem for part in parts} - {"tokenizers"}
    assert named <= set(PARTS)
