"""Exhibits of the page: their files, folded and omitted exhibits, figures by size, sentences on the baseline.

The script of exhibits in headless Chromium: copies, folds and the mark in the contents.
"""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import altered, whole
from tokbench.examples.tables import CUTS, EXAMPLES
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Cutting, Drawing, PrintedColumn, Table
from tokbench.report.html import drawings, render, sections, tables
from tokbench.report.layout import layout, main_finding

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the whole report, with one sentence and its tokens."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    render(with_sentence(), path)
    return path.read_text(encoding="utf-8")


def with_sentence() -> ReportContent:
    """The small report with the sentence "ab" as bpe splits it, whole, and sage, by letters."""
    rows = [("bpe", 0, 2, "ab"), ("sage", 0, 1, "a"), ("sage", 1, 2, "b"), ("unigram_greedy", 0, 2, "ab")]
    cuts = [
        (1, variant, 2048, place, start, end, 300, token.encode().hex())
        for place, (variant, start, end, token) in enumerate(rows)
    ]
    frames = {
        "examples": pl.DataFrame([(1, "configuration", "", "", None, "ab")], EXAMPLES.schema, orient="row"),
        "cuts": pl.DataFrame(cuts, CUTS.schema, orient="row"),
    }
    content = whole()
    return replace(content, declared=[*content.declared, EXAMPLES, CUTS], frames=content.frames | frames)


def drawn(content: ReportContent) -> dict[str, Drawing]:
    return {one.name: one for one in drawings(content)}


def named(content: ReportContent, name: str) -> Table:
    [table] = [one for one in tables(content) if one.name == name]
    return table


# Files ----------------------------------------------------------------------------------------------------------------


def test_every_table_and_figure_is_linked_to_its_files(page: str) -> None:
    content = with_sentence()
    links = set(re.findall(r'<a href="([^"#]+)"', page))
    for table in tables(content):
        assert {f"typeset/{table.name}.{suffix}" for suffix in ("csv", "md", "tex")} <= links
    for drawing in drawings(content):
        assert {f"figures/{drawing.name}.{suffix}" for suffix in ("svg", "png")} <= links
    tidy = {path for one in [*tables(content), *drawings(content)] if one.source for path in one.source.tables}
    written = {path for path in tidy if path.endswith(".csv")}
    assert written == tidy - {"tokenizers"}
    assert written | {path.replace(".csv", ".parquet") for path in written} <= links


# Folds ----------------------------------------------------------------------------------------------------------------


def test_the_line_of_a_fold_says_how_many_rows_and_the_finding() -> None:
    frame = pl.DataFrame(
        {"variant": ["a", "b", "a", "b"], "size": [1, 1, 2, 2], "length": [3.0, 2.5, 4.0, 3.5], "verdict": ["x"] * 4}
    )
    columns = [PrintedColumn("variant"), PrintedColumn("size", kind="count")]
    best = PrintedColumn("length", "bytes per token", "real", 2, "highest")
    table = Table("lengths", "Lengths.", frame, [*columns, best], best_within="size")
    assert main_finding(table, layout(table)) == "best at 2: a, 4.00 bytes per token"
    plain = replace(table, columns=[*columns, replace(best, best=None)])
    assert main_finding(plain, layout(plain)) == "x: 4"
    bare = replace(plain, frame=frame.drop("verdict"))
    assert main_finding(bare, layout(bare)) == "bytes per token from 2.50 to 4.00"


def test_folds_are_on_the_page_with_their_lines(page: str) -> None:
    lines = [unescape(re.sub("<[^>]+>", "", one)) for one in re.findall(r"<summary>(.*?)</summary>", page)]
    assert "1 lines of YAML" not in lines
    assert any(re.fullmatch(r"\d+ lines of YAML", one) for one in lines)
    assert any(one.startswith("Table ") and re.search(r"\d rows?; ", one) for one in lines)
    assert not [one for one in lines if one.startswith("Show ")]
    assert page.count('<figure class="table"') == page.count("<table")


def test_figures_without_information_are_not_drawn() -> None:
    content = whole()
    names = drawn(content)
    assert len(content.frames["bits_per_byte"]) == 8
    assert "bits-per-byte-tiny-offline" in names
    few = altered(content, bits_per_byte=content.frames["bits_per_byte"].filter(size=2048))
    assert "bits-per-byte-tiny-offline" not in drawn(few)
    assert named(few, "bits-per-byte-tiny-offline").folded
    assert not [name for name in names if name.startswith("corpus_token_count-accuracy")], "under ten points"
    correlations = named(content, "correlations")
    assert correlations.folded
    assert correlations.finding.startswith("no finding: at most ")


def test_tests_that_cannot_reject_are_folded_with_the_reason() -> None:
    content = whole()
    [model, suite] = content.frames["comparisons"].select("model", "suite").row(0)
    name = f"{model}-{suite}"
    assert f"p-values-{name}" in drawn(content)
    few = altered(content, comparisons=content.frames["comparisons"].with_columns(n=pl.lit(4, pl.Int64)))
    assert f"p-values-{name}" not in drawn(few)
    assert named(few, f"comparisons-{name}").finding == "no test can reject, as fewer than five scores differ"


def test_ranks_are_drawn_where_something_differs() -> None:
    content = whole()
    [model, suite] = content.frames["comparisons"].select("model", "suite").row(0)
    assert "by rank and" in drawn(content)[f"accuracy-by-rank-{model}-{suite}"].caption
    tests = content.frames["task_measure_comparisons"].with_columns(model=pl.lit(model), suite=pl.lit(suite))
    alike = altered(content, task_measure_comparisons=tests.with_columns(verdict=pl.lit("no significant difference")))
    caption = drawn(alike)[f"accuracy-by-rank-{model}-{suite}"].caption
    assert "No ranks, because no difference is significant." in caption
    wide = content.frames["critical_differences"].with_columns(pl.col("critical_difference") * 100)
    same = altered(content, critical_differences=wide)
    assert f"average-ranks-{model}-{suite}" not in drawn(same)
    assert named(same, f"average-ranks-{model}-{suite}").finding == "no two average ranks differ significantly"


# Loss -----------------------------------------------------------------------------------------------------------------


def test_losses_are_in_bits_per_byte_over_bytes() -> None:
    content = whole()
    read = content.frames["trained_on"].with_columns(
        tokens=pl.lit(1000, pl.Int64),
        text_bytes=pl.when(pl.col("variant") == "bpe").then(4000).otherwise(2000).cast(pl.Int64),
    )
    figure = drawn(altered(content, trained_on=read))["curves-tiny"].draw(width=4.0)
    ends = {
        variant: re.search(r"([\d.]+) after ([\d,]+) bytes", text)
        for one in figure.tooltips  # type: ignore[attr-defined]
        for variant, text in [(one.group, one.texts[0])]
        if " at 2,048" in text
    }
    losses = {variant: float(match[1]) for variant, match in ends.items() if match}
    read_bytes = {variant: match[2] for variant, match in ends.items() if match}
    assert losses["sage"] == pytest.approx(2 * losses["bpe"], abs=0.002)
    assert (read_bytes["bpe"], read_bytes["sage"]) == (f"{2048 * 39 * 4:,}", f"{2048 * 39 * 2:,}")


def test_losses_are_not_drawn_per_token() -> None:
    content = whole()
    unknown = content.frames["trained_on"].with_columns(text_bytes=pl.lit(None, pl.Int64))
    assert "curves-tiny" in drawn(content)
    assert "curves-tiny" not in drawn(altered(content, trained_on=unknown))
    assert "curves-tiny" not in drawn(altered(content, trained_on=None))


# Figures by size ------------------------------------------------------------------------------------------------------


def test_figures_of_one_size_are_drawn_for_each_and_the_largest_is_shown(page: str) -> None:
    series: dict[str, list[Drawing]] = {}
    for drawing in drawings(whole()):
        if drawing.series:
            series.setdefault(drawing.series, []).append(drawing)
    assert "behind-the-best-tokens-books" in series
    for made in series.values():
        assert [one.size for one in made] == [1024, 2048]
        hidden = [f'id="figure-{one.name}" data-size="{one.size}" hidden>' in page for one in made]
        shown = [f'id="figure-{one.name}" data-size="{one.size}">' in page for one in made]
        assert (hidden, shown) == ([True, False], [False, True])
    numbers = re.findall(r'<figure class="drawing" id="figure-([^"]+)".*?<b>Figure (\d+)\.', page, re.DOTALL)
    by_name = dict(numbers)
    for made in series.values():
        assert len({by_name[one.name] for one in made}) == 1


# Sentences ------------------------------------------------------------------------------------------------------------


def test_tokens_are_coloured_where_the_baseline_has_no_such_bounds() -> None:
    content = replace(with_sentence(), baselines=["sage"])
    [section] = [one for one in sections(content) if one.identifier == "examples"]
    [cutting] = [one for one in section.exhibits if isinstance(one, Cutting)]
    marked = {name: [token.differs for token in tokens] for name, tokens in cutting.rows}
    assert marked == {"bpe": [True], "sage": [False, False], "unigram_greedy": [True]}
    assert "sage has no token with these bounds" in section.paragraphs[0]
    assert "all of 2,048 tokens" in section.paragraphs[0]


# The script -----------------------------------------------------------------------------------------------------------

TRIAL = """
<pre id="found"></pre><script>
window.addEventListener("load", async () => {
const found = {};
const board = document.querySelector("#table-accuracy-tiny-offline-2048");
const copied = [];
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { copied.push(text); } } });
for (const one of board.querySelectorAll(".files button")) one.click();
await new Promise((go) => setTimeout(go, 50));
found.copied = [...copied];
found.states = Array.from(board.querySelectorAll(".files button"), (one) => one.textContent);
const [unfold, fold] = document.querySelectorAll(".folds button");
const open = () => Array.from(document.querySelectorAll("main details"), (one) => one.open);
unfold.click();
found.open = open().every(Boolean);
fold.click();
found.shut = !open().some(Boolean);
location.hash = "#table-accuracy-every-score";
await new Promise((go) => setTimeout(go, 100));
found.unfolded = document.querySelector("#table-accuracy-every-score").closest("details").open;
for (let turn = 0; turn < 2; turn += 1) {
  document.querySelector("#statistics h2").scrollIntoView();
  await new Promise((go) => setTimeout(go, 300));
}
window.dispatchEvent(new Event("scrollend"));
found.current = Array.from(document.querySelectorAll("nav a[aria-current]"), 
  (one) => document.querySelector(one.getAttribute("href")).closest("section").id);
document.querySelector("#configuration button.act").click();
await new Promise((go) => setTimeout(go, 50));
found.configuration = copied[copied.length - 1];
document.getElementById("found").textContent = JSON.stringify(found);
});
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_the_script_copies_unfolds_and_marks_the_place(page: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", TRIAL), encoding="utf-8")
    call = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1280,900", "--virtual-time-budget=5000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    dumped = subprocess.run(call, check=True, capture_output=True, text=True, timeout=180).stdout
    match = re.search(r'<pre id="found">(.*?)</pre>', dumped)
    assert match is not None
    found = json.loads(unescape(match[1]))
    markdown, latex = found["copied"]
    assert markdown.startswith("**Accuracy in percent of tiny on offline at vocabulary size 2,048")
    assert "| variant | average | choice\\_a |" in markdown
    assert "| :--- | ---: |" in markdown
    assert "\\begin{tabular}{lr" in latex
    assert "unigram\\_greedy & " in latex
    assert found["states"] == ["Copied", "Copied"]
    assert (found["open"], found["shut"], found["unfolded"]) == (True, True, True)
    assert found["current"] == ["statistics"]
    assert found["configuration"].startswith("name: small")


def test_the_page_prints_with_colours_and_without_folds(page: str) -> None:
    printed = page[page.index("@media print") :]
    assert "print-color-adjust: exact" in printed
    assert "::details-content" in printed
