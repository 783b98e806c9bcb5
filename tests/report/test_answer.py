"""The answer at the top of the report, and the parts that follow the chosen vocabulary size."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.fake_results import shown_apart
from tests.support.small_report import altered, board_of_seeds, whole
from tokbench.config.experiment import Experiment
from tokbench.io.provenance import last_day
from tokbench.options import validated
from tokbench.report.answer import answers
from tokbench.report.caveats import caveats
from tokbench.report.exhibits import Table
from tokbench.report.html import provenance_line, render
from tokbench.report.leaderboard import read_splits
from tokbench.report.loading import build_content
from tokbench.report.sections.scoreboard import scoreboard
from tokbench.report.wording import in_bytes
from tokbench.tabulation.documents import LEAKAGE


def test_each_sentence_is_of_the_baseline_and_has_the_interval_of_the_difference() -> None:
    content = whole()
    board = content.frames["scoreboard"]
    large, small = answers(content)
    assert (large.size, small.size) == (2048, 1024)
    assert large.introduction == "Vocabulary size 2,048. Baseline: bpe. Text: the evaluation split of books."
    for answer in (large, small):
        [row] = board.filter(measure="tokens", size=answer.size, verdict="best").to_dicts()
        tokens = answer.statements[0]
        assert tokens.head == f"Fewest tokens: {row['variant']}"
        far = -100 * row["difference"]
        assert tokens.text.startswith(f"{row['variant']} needs {far:.2f} % fewer tokens than bpe (95 % interval −")
        assert tokens.text.endswith(f"; 8 documents): significantly better. {row['value']:,.0f} tokens.")


def test_each_corpus_has_its_answers() -> None:
    """Accuracy is of no corpus, and is part of the answer on each."""
    content = altered(whole(), scoreboard=board_of_two_corpora(), leakage=None, corpora=["books", "news"])
    made = answers(content)
    assert [(one.corpus, one.size) for one in made] == [
        (name, size) for name in ("books", "news") for size in (2048, 1024)
    ]
    assert [one.introduction.rpartition(" ")[2] for one in made] == ["books.", "books.", "news.", "news."]
    assert len({len(one.statements) for one in made}) == 1
    assert [one.text for one in caveats(content) if one.corpus] == ["Evaluated on books.", "Evaluated on news."]


def board_of_two_corpora() -> pl.DataFrame:
    board = whole().frames["scoreboard"]
    return pl.concat([board, board.filter(pl.col("corpus") == "books").with_columns(corpus=pl.lit("news"))])


def test_one_training_has_no_ranking() -> None:
    content = altered(whole(), scoreboard=board_of_seeds(1))
    heads = [one.head for one in answers(content)[0].statements]
    assert heads[1:] == [f"{name}: no ranking, one training of each." for name in ("Bits per byte", "Accuracy")]
    assert "Language models are not ranked." in [one.head for one in caveats(content)]
    named = content.frames["task_measure_comparisons"].with_columns(model=pl.lit("tiny"))
    accuracy = answers(altered(content, task_measure_comparisons=named))[0].statements[-1].text
    assert re.search(r"Differences under about [\d.]+ points of accuracy would probably be missed\.$", accuracy)


def test_pretokenizers_are_named_where_they_differ() -> None:
    content = shown_apart()
    answer = answers(content)[0]
    assert "Baseline: bpe (pre-tokenizer gpt2)." in answer.introduction
    assert "pre-tokenizer first_space" in answer.statements[0].text
    assert "Pre-tokenizers differ:" in [one.head for one in caveats(content)]
    assert "Pre-tokenizers differ:" not in [one.head for one in caveats(whole())]


def test_caveats_are_computed() -> None:
    splits = {("books", "evaluation"): (40, 208_921), ("books", "tokenizer"): (175, 837_812)}
    row = ("books", "books", "tokenizer", 40, 208_921, 208_921, 0, 2, 10_237, 0.049, None)
    leakage = pl.DataFrame([row], schema=LEAKAGE.schema, orient="row")
    content = altered(whole(), leakage=leakage, corpora=["books"], built_from=["books"], splits=splits)
    told = {one.head: one.text for one in caveats(replace(content, demonstration=True))}
    assert told["Another text can change the order."] == (
        "Evaluated on books: 40 documents, 209 kB. Vocabularies were built from 175 documents, 838 kB."
    )
    assert (
        told["Part of the text also occurs in training text."] == "Of its bytes, 4.9 % is also in the tokenizer split."
    )
    assert "This is a demonstration." in told
    assert "This is a demonstration." not in {one.head for one in caveats(content)}
    assert caveats(altered(whole(), scoreboard=None)) == []
    assert [in_bytes(size) for size in (1, 999, 12_345, 2_100_000)] == ["1 byte", "999 bytes", "12.3 kB", "2.1 MB"]


@pytest.mark.parametrize(("source", "expected"), [("embedded", True), ({"type": "text", "path": "a.txt"}, False)])
def test_the_demonstration_is_of_the_embedded_corpus(source: object, expected: bool) -> None:
    settings = {
        "name": "small", "corpora": {"texts": {"source": source}}, "sizes": [512],
        "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
    }  # fmt: skip
    experiment = validated(settings, Experiment, "here")
    assert build_content(experiment, settings, [], {}, {}).demonstration is expected


def test_day_and_documents_are_of_the_files(tmp_path: Path) -> None:
    rows = [("books", "evaluation", 40, 208_921), ("words", "all", None, None)]
    corpora = [dict(zip(("corpus", "split", "documents", "bytes"), row, strict=True)) for row in rows]
    (tmp_path / "leaderboard.json").write_text(json.dumps({"corpora": corpora}))
    for name, finished in (("a", "2026-01-02T03:04:05Z"), ("b", "2026-01-01T23:00:00Z")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(json.dumps({"finished": finished}))
    splits = read_splits(tmp_path / "leaderboard.json")
    assert splits == {("books", "evaluation"): (40, 208_921), ("words", "all"): (None, None)}
    day = last_day([tmp_path / "a", tmp_path / "b", tmp_path / "none"])
    assert (day, last_day([])) == ("2026-01-02", "")
    made = {"versions": {"tokbench": "0.1.0"}, "revision": "0123456789abcdef+"}
    content = replace(whole(), provenance=made, splits=splits, finished=day)
    assert provenance_line(content) == (
        "Tokbench 0.1.0 · revision 01234567+ · tokenizers built by 2026-01-02 · 40 evaluation documents"
    )


def test_bars_are_shares_of_the_largest_difference() -> None:
    table: Table | None = scoreboard(whole())
    assert table is not None
    board = whole().frames["scoreboard"].filter(measure="tokens", size=2048)
    largest = board["difference"].abs().max()
    rows = {row["variant"]: index for index, row in enumerate(table.frame.to_dicts()) if row["size"] == 2048}
    for row in board.iter_rows(named=True):
        bar = table.bars.get((rows[row["variant"]], "tokens"))
        assert bar == (None if row["difference"] is None else row["difference"] / largest)


TRIAL = """
<pre id="found"></pre><script>
{
const found = {};
const sized = () => Array.from(document.querySelectorAll("[data-size]")).filter((one) => !one.hidden)
  .map((one) => one.dataset.size);
const figure = document.querySelector("#table-scoreboard");
const rows = () => Array.from(figure.querySelectorAll("tbody tr")).filter((one) => !one.hidden)
  .map((one) => one.cells[0].textContent);
const head = (name) => figure.querySelector(`th[data-name="${name}"]`);
const [select, field] = [figure.querySelector("select"), figure.querySelector("input.filter")];
found.start = [sized(), window.location.hash, select.value, field.value, rows(), head("size").hidden];
found.sort = head("tokens").getAttribute("aria-sort");
head("tokens").querySelector("button").click();
found.again = [window.location.hash, rows()];
field.value = "";
field.dispatchEvent(new Event("input"));
select.value = "2,048";
select.dispatchEvent(new Event("change"));
found.chosen = [sized(), window.location.hash, rows().length, head("size").hidden];
select.value = "";
select.dispatchEvent(new Event("change"));
found.all = [sized(), window.location.hash, rows().length, head("size").hidden];
const colour = (row) => getComputedStyle(row.cells[1]).backgroundColor;
const [mine, other] = ["sage", "bpe"].map((name) => Array.from(figure.querySelectorAll("tbody tr"))
  .find((row) => row.cells[0].textContent === name));
found.highlighted = [mine.className, other.className, colour(mine) !== colour(other)];
found.first = document.getElementById("answer").getBoundingClientRect().top + window.scrollY;
found.contents = document.querySelector("nav details").open;
document.getElementById("found").textContent = JSON.stringify(found);
}
</script></body>"""
OF_CORPORA = """
<pre id="found"></pre><script>
{
const select = document.querySelector("#table-scoreboard select[data-name=corpus]");
const seen = () => [
  Array.from(document.querySelectorAll("#answer [data-corpus]")).filter((one) => !one.hidden)
    .map((one) => [one.dataset.size, one.dataset.corpus].filter(Boolean).join(" ")),
  document.getElementById("no-answer").hidden,
];
const found = [seen()];
for (const value of ["books", ""]) {
  select.value = value;
  select.dispatchEvent(new Event("change"));
  found.push(seen());
}
document.getElementById("found").textContent = JSON.stringify(found);
}
</script></body>"""
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def shown_by_browser(page: Path, size: str, place: str) -> Any:
    """Return the JSON that a trial writes into the page in a window of this size, opened at a place."""
    call = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}",
        f"--window-size={size}", "--dump-dom", f"{page.as_uri()}{place}",
    ]  # fmt: skip
    dump = subprocess.run(call, check=True, capture_output=True, text=True, timeout=120).stdout
    match = re.search(r'<pre id="found">(.*?)</pre>', dump)
    assert match is not None
    return json.loads(unescape(match[1]))


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_corpus_moves_its_answers_and_caveats(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    render(altered(whole(), scoreboard=board_of_two_corpora(), leakage=None, corpora=["books", "news"]), page)
    text = page.read_text(encoding="utf-8").replace("</body>", OF_CORPORA)
    page.write_text(text, encoding="utf-8")
    assert shown_by_browser(page, "1280,900", "#corpus=news") == [
        [["2048 news", "news"], True],
        [["2048 books", "books"], True],
        [["2048 books", "2048 news", "books", "news"], True],
    ]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("size", ["1280,900", "500,844"])
def test_the_address_has_the_choices_and_a_size_moves_all_of_that_size(tmp_path: Path, size: str) -> None:
    page = tmp_path / "report.html"
    render(replace(whole(), highlight="sage"), page)
    text = page.read_text(encoding="utf-8")
    assert text.index('id="answer"') < text.index("<nav") < text.index('id="table-scoreboard"')
    assert re.findall(r'data-size="(\d+)"( hidden)?>', text)[:2] == [("2048", ""), ("1024", " hidden")]
    page.write_text(text.replace("</body>", TRIAL), encoding="utf-8")
    found: dict[str, Any] = shown_by_browser(page, size, "#evidence&size=1024&sort=-tokens&filter=a")
    sizes, address, chosen, words, rows, hidden = found["start"]
    assert (set(sizes), chosen, words, hidden) == ({"1024"}, "1,024", "a", True)
    assert address == "#evidence&size=1024&sort=-tokens&filter=a"
    assert found["sort"] == "descending"
    again, turned = found["again"]
    assert again == "#evidence&size=1024&sort=tokens&filter=a"
    assert turned == rows[::-1]
    assert [set(found["chosen"][0]), *found["chosen"][1:]] == [{"2048"}, "#evidence&sort=tokens", 4, True]
    assert [set(found["all"][0]), *found["all"][1:]] == [{"1024", "2048"}, "#evidence&size=all&sort=tokens", 8, False]
    assert found["highlighted"] == ["highlighted", "", True]
    assert found["first"] < 300
    assert found["contents"] == size.startswith("1280")
