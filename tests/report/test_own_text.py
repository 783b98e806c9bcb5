"""The box for a reader's own text: the script of the page gives the ids of the library, byte for byte.

It runs in Node or, where there is none, in Chromium. Every construction with every segmentation takes the
pre-tokenizers in turn, on bytes of any kind.
"""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import ODD, TOPICS
from tests.report.test_page import BROWSER
from tests.support.small_report import whole
from tests.support.texts import EDGES, EVERY, INVALID, NOT_UTF8, Strings
from tests.test_fuzz import SEGMENTATIONS, VOCABULARIES, fits, label, vocabulary
from tokbench.examples.cut import visible
from tokbench.examples.tables import CUTS, EXAMPLES
from tokbench.pretokenization import pretokenization_of
from tokbench.report.content import ReportContent
from tokbench.report.html import render
from tokbench.report.own_text import METHODS, OwnText, own_text, unsupported_reason
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

NODE = shutil.which("node") or shutil.which("nodejs")
SCRIPT = Path(__file__).parents[2] / "src/tokbench/report/templates/own_text.js"
STRINGS = 40
SCHEMES = [
    scheme
    for scheme in map(pretokenization_of, EVERY)
    if (scheme.scanner is not None and scheme.method.name != "added_tokens") or scheme.splits == ()
]
RUNS = [b"a" * 3000, b"\xff" * 500, b" " * 700, "é".encode() * 900, b"ab" * 800, b"1" * 500, b"\r\n" * 300, b"'s" * 300]
SPOKEN = [
    "It isn't naïve: 1,234 emoji 🙂", "e\u0301\u0301 a\u0327\u0300", "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👍🏽",
    "a\r\nb\r\n\r\n c\n", "\ufeff١٢٣ שלום 語言モデル \u3000 \u2028 ½Ⅷ²",
    "\ud800 \udfff\ud83d", "<!-- </script> <|endoftext|>", "\t\t  x  \n",
]  # fmt: skip
BROWSED = """<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre><script>SCRIPT</script>
<script>document.getElementById("found").textContent = (TRIAL)(JSON.parse(INPUT));</script>"""


def run(trial: str, given: Any, folder: Path) -> Any:
    """The value of a JavaScript function of one argument, where the script of the page is at hand."""
    text = json.dumps(given)
    if NODE is not None:
        code = f"{SCRIPT.read_text(encoding='utf-8')}\nconst given = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        code += f"process.stdout.write(({trial})(given));"
        path = folder / "trial.js"
        path.write_text(code, encoding="utf-8")
        done = subprocess.run([NODE, path], input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)
    path = folder / "trial.html"
    page = BROWSED.replace("SCRIPT", SCRIPT.read_text(encoding="utf-8")).replace("TRIAL", trial)
    path.write_text(page.replace("INPUT", json.dumps(text).replace("<", "\\u003c")), encoding="utf-8")
    return browsed(path, folder)


def browsed(path: Path, folder: Path, size: str = "1280,900") -> Any:
    """JSON that a page writes into its element ``found``."""
    call = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
        f"--window-size={size}", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    shown = subprocess.run(call, check=True, capture_output=True, text=True, timeout=300).stdout
    match = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
    assert match is not None
    return json.loads(unescape(match[1]))


needs_script = pytest.mark.skipif(NODE is None and BROWSER is None, reason="neither Node nor Chromium here")
ENCODE = """(given) => {
  const data = JSON.parse(given.data);
  return JSON.stringify(data.tokenizers.map((tokenizer, row) => given.texts[row].map((text) => {
    const done = ownText.cut(data, tokenizer, text);
    return [done.ids, done.ends.length ? done.ends[done.ends.length - 1] : 0];
  })));
}"""


def check(tokenizers: list[Tokenizer], texts: list[list[bytes]], folder: Path) -> None:
    """The script gives the ids of each tokenizer's texts."""
    box = own_text(tokenizers, 1 << 30)
    assert box is not None
    assert "Left out" not in box.note
    given = {"data": box.data, "texts": [[text.decode("latin-1") for text in part] for part in texts]}
    for tokenizer, part, found in zip(tokenizers, texts, run(ENCODE, given, folder), strict=True):
        for text, (ids, end) in zip(part, found, strict=True):
            assert ids == tokenizer.encode(text).tolist(), f"{tokenizer!r} on {text.hex()}"
            assert end == len(text)


@pytest.fixture(scope="module")
def supply(scores: Path) -> Strings:
    tokens = {token for place in range(len(VOCABULARIES)) for token in vocabulary(place, scores).tokens}
    return Strings(sorted(tokens), b"".join(TOPICS) + ODD, seed=7)


@needs_script
@pytest.mark.parametrize("place", range(len(VOCABULARIES)), ids=[label(method) for method in VOCABULARIES])
def test_the_script_gives_the_ids_of_the_library(place: int, supply: Strings, scores: Path, tmp_path: Path) -> None:
    """Every segmentation that the vocabulary allows, each with two pre-tokenizers."""
    made = vocabulary(place, scores)
    tokenizers = []
    for number, (name, options) in enumerate(SEGMENTATIONS):
        if fits(made, name) and name in METHODS:
            for turn in range(2):
                scheme = SCHEMES[(place + 2 * number + turn) % len(SCHEMES)]
                tokenizers.append(Tokenizer(made, scheme, name, segmentations[name].options(**options)))
    spoken = [text.encode("utf-8", "surrogatepass") for text in SPOKEN]
    texts = [[b"", bytes(range(256)), *spoken, *islice(supply, STRINGS)] for _ in tokenizers]
    texts[0] += EDGES + NOT_UTF8
    check(tokenizers, texts, tmp_path)


def made_of(scheme: Any, method: str, made: Vocabulary, **options: Any) -> Tokenizer:
    return Tokenizer(made, scheme, method, segmentations[method].options(**options), name=method)


@needs_script
@pytest.mark.parametrize("segmentation", ["merge", "shortest_path", "ranked", "cover"])
def test_every_pretokenizer_that_is_embedded(segmentation: str, supply: Strings, scores: Path, tmp_path: Path) -> None:
    """Bytes of any kind, edges, and long runs."""
    bpe = vocabulary([name for name, _ in VOCABULARIES].index("bpe"), scores)
    tokenizers = [made_of(scheme, segmentation, bpe) for scheme in SCHEMES]
    spoken = [text.encode("utf-8", "surrogatepass") for text in SPOKEN]
    odd = [*EDGES, *NOT_UTF8, *INVALID, b"a".join(INVALID), *RUNS]
    texts = [[*odd, *spoken, *islice(supply, STRINGS)] for _ in tokenizers]
    check(tokenizers, texts, tmp_path)


@needs_script
def test_a_pattern_of_the_users_and_the_end_of_a_text(supply: Strings, tmp_path: Path) -> None:
    """Possessive and counted quantifiers, a line feed that ends the text, and patterns one after another."""
    patterns = [r"[^\s\d]++\s?|\s++$|\s+", r"\p{Lu}?\p{Ll}{2,4}+|\n", "[^aeiou]+?[aeiou]"]
    settings: list[Any] = [{"method": "regex", "pattern": pattern} for pattern in patterns]
    settings.append({"method": "sequence", "steps": ["gpt2", {"method": "regex", "pattern": r"\p{N}{1,3}"}]})
    schemes = [scheme for scheme in map(pretokenization_of, settings) if scheme.scanner is not None]
    assert len(schemes) >= 3
    made = Vocabulary((*BYTES, b"in", b"the", b"\n\n"))
    lines = [b"a\n", b"a\n\n", b"a \n", b"\n", b"a\r\n", b"The end.\n"]
    texts = [[*lines, *EDGES, *islice(supply, 4 * STRINGS)] for _ in schemes]
    check([made_of(scheme, "greedy", made) for scheme in schemes], texts, tmp_path)


@needs_script
def test_ids_of_another_library_and_scores(tmp_path: Path) -> None:
    """Bytes in another order with ids that have gaps; equal sums, barred tokens, and scores that differ in one bit."""
    tokens = (*BYTES[::-1], b"ab", b"ba", b"aba", b"abab", b"bb")
    ids = np.arange(len(tokens), dtype=np.int32)[::-1] * 3 + 7
    a, b = tokens.index(b"a"), tokens.index(b"b")
    merges = np.array([[a, b, 256], [b, a, 257], [256, a, 258], [a, b, 256]], np.int32)
    scores = np.full(len(tokens), -7.0)
    scores[256:] = [-14, np.nextafter(-14.0, 0), -20.99999999999999, -np.inf, -1e-300]
    scores[3] = -np.inf
    made = Vocabulary(tokens, merges=merges, scores=scores, ids=ids, special={1: b"<end>"})
    text = b"abababbbaabbabab<end>" * 3 + bytes(range(256))
    methods = ["merge", "likelihood", "ranked", "greedy"]
    check([made_of("none", method, made) for method in methods], [[text]] * len(methods), tmp_path)


@needs_script
def test_tokens_are_shown_as_in_the_sentences(supply: Strings, tmp_path: Path) -> None:
    """Python and the script know different editions of Unicode: what neither of the two has assigned is left out."""
    spoken = [text.encode("utf-8", "surrogatepass") for text in SPOKEN]
    texts = [text for text in [*EDGES, *NOT_UTF8, *spoken, "\u0301x \u0301".encode(), "한글\u1161".encode()] if text]
    trial = "(given) => JSON.stringify(given.map(ownText.visible))"
    found = run(trial, [text.decode("latin-1") for text in texts], tmp_path)
    assert found == [visible(text) for text in texts]
    back = run("(given) => JSON.stringify(given.map(ownText.utf8))", SPOKEN, tmp_path)
    assert back == [text.decode("latin-1") for text in spoken]


def test_box_names_tokenizers_that_it_leaves_out() -> None:
    made = Vocabulary((*BYTES, b"</script>", b"a" * 60_000))
    first = Tokenizer(made, "gpt2", "greedy", name="first")
    digits = Tokenizer(Vocabulary(BYTES), {"method": "digits", "group": 3}, "greedy", name="digits")
    other = Tokenizer(Vocabulary((*BYTES, b"b" * 60_000)), "gpt2", "ranked", name="other")
    box = own_text([first, digits, other], 100_000)
    assert box is not None
    assert "</" not in box.data
    assert [row["name"] for row in json.loads(box.data)["tokenizers"]] == ["first 258"]
    assert box.note.endswith(
        "Left out: digits 256 (its pre-tokenizer digits (group 3) has no automaton) and other 257 (its vocabulary "
        "does not fit into the 0.1 MB of this box)."
    )
    assert own_text([]) is None
    alone = own_text([digits])
    assert alone == OwnText("", "Left out: digits (its pre-tokenizer digits (group 3) has no automaton).")


def test_equal_automata_and_vocabularies_are_stored_once() -> None:
    """One automaton and one vocabulary for two segmentations of the same tokens."""
    made = Vocabulary((*BYTES, b"the"))
    box = own_text([Tokenizer(made, "gpt2", name, name=name) for name in ("greedy", "shortest_path")])
    assert box is not None
    data = json.loads(box.data)
    assert [len(data[part]) for part in ("pretokenizers", "vocabularies", "tokenizers")] == [1, 1, 2]
    assert {len(row) for row in data["tokenizers"]} == {5}


ADDED = """(given) => {
  const data = JSON.parse(given.data);
  const part = JSON.parse(given.part);
  ownText.appendPart(data, part);
  return JSON.stringify(data.tokenizers.map((one) => [one.name, ownText.cut(data, one, given.text).ids]));
}"""


@needs_script
def test_tokenizers_that_do_not_fit_are_in_a_file_next_to_the_page(tmp_path: Path) -> None:
    """A button loads it, and its tokenizers follow those of the page."""
    small = Tokenizer(Vocabulary((*BYTES, b"th")), "gpt2", "greedy", name="small")
    large = Tokenizer(Vocabulary((*BYTES, b"the", *(b"%06d" % number for number in range(2000)))), "none", "greedy",
                      name="large")  # fmt: skip
    assert own_text([small], 100_000, with_file=True) == own_text([small], 100_000)
    box = own_text([small, large], 10_000, with_file=True)
    assert box is not None
    assert "large 2,257" in box.names
    assert "Left out" not in box.note
    part = box.script.removeprefix("ownText.add(").removesuffix(");\n")
    found = run(ADDED, {"data": box.data, "part": part, "text": "the 000123"}, tmp_path)
    by_name = {name.split()[0]: ids for name, ids in found}
    assert by_name == {one.name: one.encode(b"the 000123").tolist() for one in (small, large)}
    page = tmp_path / "report.html"
    render(replace(with_sentences(), own_text=box), page)
    assert '<button type="button" id="own-load" data-file="own_text.js">Load the vocabular' in page.read_text()


def test_every_segmentation_is_embedded() -> None:
    """All but those that need counts of substrings, merges of more than two parts or characters, or documents."""
    others = {"split_tree", "merge_tuples", "superwords", "merge_characters", "merge_alphabet", "merge_scores"}
    assert set(segmentations) - others == METHODS
    odd = Tokenizer(Vocabulary(BYTES), "gpt2", "greedy")
    assert unsupported_reason(odd) == ""


TYPED = """
<pre id="found"></pre><script>
const box = document.getElementById("own-text");
const input = box.querySelector("textarea");
const rows = () => Array.from(box.querySelectorAll("dl > div"), (row) => [
  row.querySelector("dt").textContent,
  Array.from(row.querySelectorAll(".t"), (one) => [one.textContent, one.dataset.id, one.className]),
]);
const found = { hidden: box.hidden, first: rows().length, said: box.querySelector("[role=status]").textContent };
const type = (text) => { input.value = text; input.dispatchEvent(new Event("input")); };
type("the the");
found.rows = rows();
const tokens = Array.from(box.querySelectorAll(".t"));
found.colours = tokens.map((one) => [one.dataset.id, getComputedStyle(one).backgroundColor]);
found.label = input.labels[0].textContent;
const around = document.documentElement;
type("word ".repeat(300) + "x".repeat(300));
if (window.innerWidth < 720) document.body.style.width = "360px";
found.sideways = around.scrollWidth - around.clientWidth;
const figure = box.querySelector("figure");
document.getElementById("show-ids").checked = true;
found.ids = getComputedStyle(figure.querySelector(".t"), "::after").content;
type("");
found.empty = [figure.hidden, rows().map((row) => row[1].length)];
document.getElementById("found").textContent = JSON.stringify(found);
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("size", ["1280,900", "390,844"])
def test_a_reader_types_a_sentence(tmp_path: Path, size: str) -> None:
    tokens = Vocabulary((*BYTES, b"th", b"the", b" the"))
    short = Vocabulary((*BYTES, b"th"))
    box = own_text([Tokenizer(tokens, "gpt2", "greedy", name="a_b"), Tokenizer(short, "none", "greedy", name="c")])
    page = tmp_path / "report.html"
    render(replace(with_sentences(), own_text=box), page)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", TYPED), encoding="utf-8")
    found = browsed(page, tmp_path, size)
    assert (found["hidden"], found["first"], found["label"]) == (False, 2, "Type a sentence")
    assert found["said"] == "53 bytes. Fewest tokens: 50 by a_b 259."
    spaced = [["th", "256", "t d"], ["e", "101", "t d"]]
    assert found["rows"] == [
        ["a_b 259 2", [["the", "257", "t"], ["␣the", "258", "t"]]],
        ["c 257 5", [*spaced, ["␣", "32", "t d"], *spaced]],
    ]
    colours = dict(found["colours"])
    assert set(map(tuple, found["colours"])) == set(colours.items()), "an id has one colour"
    assert len(set(colours.values())) == len(colours)
    assert found["sideways"] == 0
    assert found["ids"] == "attr(data-id)" or found["ids"] == '"119"'
    assert found["empty"] == [True, [0, 0]]


def test_a_page_without_the_box_has_no_script(tmp_path: Path) -> None:
    """And one that can embed no tokenizer says so."""
    render(with_sentences(), tmp_path / "report.html")
    assert "ownText" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    render(replace(with_sentences(), own_text=OwnText("", "Left out: x.")), tmp_path / "none.html")
    text = (tmp_path / "none.html").read_text(encoding="utf-8")
    assert "There is no box for your own text. Left out: x." in text
    assert "ownText" not in text


def with_sentences() -> ReportContent:
    """A report with one sentence."""
    frames = {
        "examples": pl.DataFrame([(1, "configuration", "", "", None, "a")], EXAMPLES.schema, orient="row"),
        "cuts": pl.DataFrame([(1, "bpe", 2048, 1, 0, 1, 97, "61")], CUTS.schema, orient="row"),
    }
    return replace(whole(), declared=[EXAMPLES, CUTS], frames=frames)
