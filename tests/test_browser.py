"""The report in headless Chromium: tables sort and filter, numbers tell their files, marks answer to the pointer."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from tests.support.small_report import VARIANTS, altered, whole
from tokbench.encoding_speed import ColdSpeed
from tokbench.examples.tables import CUTS, EXAMPLES
from tokbench.report.html import render

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
    assert found["sorted"] == [[*ranked, "bpe"], [*ranked[::-1], "bpe"]]
    assert found["none"] == [False, "No row matches.", 1]
    assert found["filtered"] == [["sage", "tiny", "offline", "2,048", "choice_a"]]
    assert found["traced"] == [
        "choice_e: 40.8", "tables/accuracy.csv", "downstream/tiny/random/1024/offline.json", "recipe of random",
    ]  # fmt: skip
    assert found["hidden"] is True
    told = "Left out, without a number in these rows: encoding, cold (MB/s)."
    assert found["lacking"] == [[True, told], [False, ""]]
    recipe = found["keys"][3]
    assert recipe.startswith("recipe of ")
    assert found["keys"] == [-1, -1, "tables/accuracy.csv", recipe, True, True, 1]
    assert found["stepped"] == [True, f"{VARIANTS[0]} at 1,024: 118,976", True]
    assert found["sideways"] == [0, 0]
    second = [["sage", 5.5]] if size.startswith("390") else []
    assert found["kept"] == [[["sage", 0]], [["bpe", 0], *second], [["alignment", 0]], [["random", 0]]]
    assert found["sizes"] == ["512", "1,024", "16,384"]
    (mouse, gone), (touch, stays) = found["pointed"]
    assert mouse == touch == [f"{VARIANTS[0]} at 1,024: 118,976"]
    assert (gone, stays) == (True, False)
