"""The report's page: well formed, without external links, the same from the same content, with names of files.

The report in headless Chromium: tables sort and filter, numbers list their files, marks react to the pointer.

Headers of the columns of the page's tables, and the columns that stay in view.
"""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import IDENTIFIERS, PARTS, VARIANTS, WHY, accuracy, altered, intrinsic, made, whole
from tokbench.examples.tables import CUTS, EXAMPLES
from tokbench.intrinsic.encoding_speed import ColdSpeed
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Table
from tokbench.report.figures.style import SCREEN, svg
from tokbench.report.figures.svg import share_letters, shrink_for_page
from tokbench.report.html import _shown_table, drawings, render, sections, tables
from tokbench.report.sections.scoreboard import scoreboard
from tokbench.statistics.accuracies.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.accuracies.critical_difference import critical_differences
from tokbench.statistics.accuracies.intervals import average_intervals
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.statistics.accuracies.ranks import averages, averages_by_size
from tokbench.statistics.comparisons.families import ACCURACY

FILE = re.compile(r"(figures|statistics|tables|typeset)/[\w.-]+\.(csv|md|parquet|png|svg|tex)")
"""A link to a file of the experiment's folder, in which the page is."""


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
    files = {link for link in links if not link.startswith("#")}
    assert {link for link in files if not FILE.fullmatch(link)} == set()
    assert {link[1:] for link in links - files} <= set(checker.ids)
    assert not re.search(r"https?://|url\((?!#)|@import", page)
    assert {"experiment", "tokenizers", "configuration"} <= set(checker.ids)
    return page, checker


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Checker, Path]:
    """The page of the whole report, what stands on it, and the folder in which it was written."""
    folder = tmp_path_factory.mktemp("whole")
    return *rendered(whole(), folder), folder


def test_complete_report_is_valid(shown: tuple[str, Checker, Path]) -> None:
    page, checker, folder = shown
    text = " ".join(checker.text)
    assert all(variant in text for variant in VARIANTS)
    assert "<title>A &lt;small&gt; experiment &amp; its report</title>" in page
    assert "# &lt;script&gt;" in page
    assert {*IDENTIFIERS, "summary", "evidence", "published"} <= set(checker.ids)
    assert checker.ids.index("summary") < checker.ids.index("evidence") < checker.ids.index("intrinsic")
    assert WHY in text
    assert page.count("<svg") == 1 + len(drawings(whole())), "figures, and their letters"
    assert page.count("<table") == len(tables(whole()))
    assert [path.name for path in folder.iterdir()] == ["report.html"]


def test_the_same_content_gives_the_same_page(shown: tuple[str, Checker, Path], tmp_path: Path) -> None:
    """The content is made anew."""
    assert rendered(made(), tmp_path)[0] == shown[0]


def test_labels_of_figures_state_their_findings(shown: tuple[str, Checker, Path]) -> None:
    page, _, _ = shown
    assert 'aria-label="At a vocabulary of 2,048, random needs the fewest tokens for books: 114,952' in page
    drawn = {drawing.name: drawing.says for drawing in drawings(whole())}
    assert not [name for name, says in drawn.items() if not says]
    assert drawn["curves-tiny"].startswith("Training loss of tiny in bits per byte after its last batch")
    assert not re.search(r">\s+<", page[page.index("<svg") : page.index("</svg>")])


def test_a_page_has_no_node_of_a_figure_that_says_nothing(shown: tuple[str, str, list[str]]) -> None:
    """Groups without attributes, and Matplotlib's style sheets, of which the page's own has what they say."""
    drawn = (
        '<svg><defs>\n<style type="text/css">*{stroke-linejoin: round}</style>\n</defs>\n<g id="f"><g id="l"/>'
        '<g class="told"><g><path d="M 0 0"/></g></g><g id="m"><use href="#m"/></g><g></g></g></svg>'
    )
    assert shrink_for_page(drawn) == (
        '<svg><defs></defs><g class="told"><path d="M 0 0"/></g><g id="m"><use href="#m"/></g></svg>'
    )
    page = shown[0]
    assert page.count("<style") == 1
    assert "<g>" not in page
    assert "<g/>" not in page
    assert ".drawing svg * { stroke-linejoin: round; stroke-linecap: butt; }" in page
    assert "*{stroke-linejoin: round; stroke-linecap: butt}" in svg(drawings(whole())[0].draw(width=SCREEN))


def test_letters_of_all_figures_are_defined_once() -> None:
    """References to a letter point to its shape, at the same place; other references and marks stay."""
    letter = '<path id="{}" d="M 1 2" transform="scale(0.015625)"/>'
    figure = (
        '<svg><!-- ab -->\n<g id="{0}-text_1"><defs>\n' + letter.format("{0}-A") + "\n</defs>"
        '<use href="#{0}-A"/><use href="#{0}-A" x="63.62"/>'
        '<use href="#{0}-A" transform="translate(1 2) scale(0.7)"/></g>'
        '<defs><path id="{0}-m" d="M 0 0"/></defs><use href="#{0}-m" x="1" y="2"/></svg>'
    )
    second = figure.format("f2").replace("M 1 2", "M 3 4")
    letters, shared = share_letters(
        [shrink_for_page(one) for one in (figure.format("f1"), second, figure.format("f3"))]
    )
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
    assert "Not included: downstream accuracy. The configuration trains no language models." in page
    assert re.search(r"Not included: [^.]*Venn diagram[^.]*\. The stage is switched off", page, re.IGNORECASE)
    assert page.count("The stage is switched off") == 1
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
    assert "Not included: R² of accuracies at two vocabulary sizes. Every model was tested at a single size." in page
    assert "2 in common; three are needed" in " ".join(checker.text)


def test_columns_of_percentages_are_marked(shown: tuple[str, Checker, Path]) -> None:
    """A share has a header with "(%)", and a time is in no table."""
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


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
TRIAL = """
<pre id="found"></pre><script>
{
const found = {};
const ranks = document.querySelector("#table-ranks-tiny-offline table");
const first = () => Array.from(ranks.tBodies[0].rows, (row) => row.cells[1].textContent);
const average = Array.from(ranks.querySelectorAll("th button")).find((one) => one.textContent === "average (%)");
found.sorted = [1, 2].map(() => { average.click(); return first(); });
const field = document.querySelector("#table-accuracy-every-score input.filter");
field.value = "SAGE choice_a 2,048";
field.dispatchEvent(new Event("input"));
const left = document.querySelectorAll("#table-accuracy-every-score tbody tr:not([hidden])");
found.filtered = Array.from(left, (row) => Array.from(row.cells, (cell) => cell.textContent).slice(0, 5));
field.value = "nothing of the kind";
field.dispatchEvent(new Event("input"));
const none = document.querySelector("#table-accuracy-every-score .none");
found.none = [none.hidden, none.textContent, document.querySelectorAll(".none:not([hidden])").length];
const [unfold, fold] = document.querySelectorAll("nav .folds button");
const opened = () => document.querySelectorAll("main details[open]").length;
found.folds = [unfold, fold].map((one) => { one.click(); return opened(); });
found.folds.push(document.querySelectorAll("main details").length);
const told = document.getElementById("told");
const lines = () => Array.from(told.children, (line) => line.textContent);
document.querySelector("#table-accuracy-tiny-offline-1024 tbody tr:last-child td:last-child").click();
found.traced = lines();
document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
found.hidden = told.hidden;
found.pointed = ["mouse", "touch"].map((pointerType) => {
  const mark = document.querySelector("#figure-corpus_token_count-books [data-told]");
  mark.scrollIntoView({ block: "center", behavior: "instant" });
  const box = mark.getBoundingClientRect();
  const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, pointerType };
  mark.closest("svg").dispatchEvent(new PointerEvent("pointerdown", at));
  mark.closest("svg").dispatchEvent(new PointerEvent("pointerleave", at));
  return [lines(), told.hidden];
});
const board = document.querySelector("#table-scoreboard");
const speed = board.querySelector("th[data-name=speed]");
const lacking = () => [speed.hidden, board.querySelector(".lacking").textContent];
const choice = board.querySelector("select");
found.lacking = ["2,048", "1,024"].map((size) => {
  choice.value = size;
  choice.dispatchEvent(new Event("change"));
  return lacking();
});
const keyed = (element, key) => {
  element.focus();
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return document.activeElement;
};
const accuracy = document.querySelector("#table-accuracy-tiny-offline-1024 table");
const stops = () => accuracy.querySelectorAll("td[tabindex]");
const start = stops()[0];
const there = keyed(keyed(start, "ArrowLeft"), "ArrowUp");
keyed(there, "Enter");
found.keys = [
  there.cellIndex - start.cellIndex, there.parentElement.rowIndex - start.parentElement.rowIndex, lines()[1],
  keyed(there, "Tab").textContent, keyed(told.querySelector("a"), "Escape") === there, told.hidden, stops().length,
];
const drawn = document.querySelector("#figure-corpus_token_count-books svg");
found.stepped = [keyed(drawn, "ArrowRight") === drawn, lines()[0], drawn.classList.contains("pointing")];
const around = document.documentElement;
const cuts = document.querySelector(".cuts .scroll");
if (window.innerWidth < 720) document.body.style.width = "360px"; // Windows are no narrower than 500.
found.sideways = [around.scrollWidth - around.clientWidth, cuts.scrollWidth - cuts.clientWidth];
for (const folded of document.querySelectorAll("details")) folded.open = true;
found.kept = ["ranks-tiny-offline", "overlaps", "correlations", "scoreboard"].map((name) => {
  const box = document.querySelector(`#table-${name} .scroll`);
  box.style.width = "16rem";
  box.scrollLeft = 500;
  const row = Array.from(box.querySelectorAll("tbody tr")).find((one) => !one.hidden);
  const stays = (one) => getComputedStyle(one).position === "sticky";
  const names = Array.from(row.querySelectorAll("td.name")).filter(stays);
  const left = box.getBoundingClientRect().left;
  const told = names.map((one) => [one.textContent, Math.round((one.getBoundingClientRect().left - left) / 8) / 2]);
  box.scrollLeft = 0;
  return told;
});
found.sizes = ["1,024", "512", "16,384"].sort(bySize);
document.getElementById("found").textContent = JSON.stringify(found);
}
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("size", ["1280,900", "390,844"])
def test_the_page_answers(tmp_path: Path, size: str) -> None:
    page = tmp_path / "report.html"
    content = altered(whole(), speeds={("books", 1024, "bpe"): ColdSpeed(123_000, 0.01, 3)})
    frames = {
        "examples": pl.DataFrame([(1, "configuration", "", "", None, "word " * 30)], EXAMPLES.schema, orient="row"),
        "cuts": pl.DataFrame(
            [(1, "a_name_of_words_that_is_wide", 2048, n, 5 * n, 5 * n + 5, 300, b"word ".hex()) for n in range(30)],
            CUTS.schema, orient="row",
        ),
    }  # fmt: skip
    content = replace(content, declared=[*content.declared, EXAMPLES, CUTS], frames=content.frames | frames)
    render(content, page)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", TRIAL), encoding="utf-8")
    call = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={size}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    shown = subprocess.run(call, check=True, capture_output=True, text=True, timeout=120).stdout
    match = re.search(r'<pre id="found">(.*?)</pre>', shown)
    assert match is not None
    found = json.loads(unescape(match[1]))
    ranked = ["random", "unigram_greedy", "sage"]
    unfolded, folded, folds = found["folds"]
    assert (unfolded, folded) == (folds, 0)
    assert folds > 0
    assert found["sorted"] == [[*ranked[::-1], "bpe"], [*ranked, "bpe"]], "the highest accuracy first"
    assert found["none"] == [False, "No row matches.", 1]
    assert found["filtered"] == [["sage", "tiny", "offline", "2,048", "choice_a"]]
    assert found["traced"] == [
        "choice_e: 40.8", "tables/accuracy.csv", "downstream/tiny/random/1024/offline.json", "recipe of random",
    ]  # fmt: skip
    assert found["hidden"] is True
    told = "Hidden, no values in these rows: encoding, cold (MB/s)."
    assert found["lacking"] == [[True, told], [False, ""]]
    recipe = found["keys"][3]
    assert recipe.startswith("recipe of ")
    assert found["keys"] == [-1, -1, "tables/accuracy.csv", recipe, True, True, 1]
    assert found["stepped"] == [True, f"{VARIANTS[0]} at 1,024: 118,976", True]
    assert found["sideways"] == [0, 0]
    second = [["sage", 5.5]] if size.startswith("390") else []
    assert found["kept"] == [[["random", 0]], [["bpe", 0], *second], [["alignment", 0]], [["random", 0]]]
    assert found["sizes"] == ["512", "1,024", "16,384"]
    (mouse, gone), (touch, stays) = found["pointed"]
    assert mouse == touch == [f"{VARIANTS[0]} at 1,024: 118,976"]
    assert (gone, stays) == (True, False)


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
def test_key_columns_stay_in_view(columns: list[str], kept: list[str]) -> None:
    table = Table("t", "", pl.DataFrame({name: ["x"] for name in columns}))
    assert _shown_table(whole(), table, 1).names == kept


@pytest.mark.parametrize(
    ("models", "suites", "headings", "said"),
    [
        (("tiny",), ("offline",), ["tiny on offline"], "questions answered correctly"),
        (("tiny", "large"), ("offline",), ["tiny", "large"], "questions of offline answered correctly"),
        (("tiny",), ("offline", "other"), ["offline", "other"], "questions that tiny answered correctly"),
        (("tiny", "large"), ("offline", "other"), ["tiny on offline", "tiny on other", "large on offline",
                                                   "large on other"], "questions answered correctly"),
    ],
)  # fmt: skip
def test_accuracy_columns_are_headed_by_their_differences(
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
