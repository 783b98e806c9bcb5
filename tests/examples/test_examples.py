"""Example sentences of the report: selection, segmentation and escaping on the page.

Also the output of ``tokbench show``: no invisible characters, aligned boundaries, and marked differences.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

import tokbench as library
from tests.conftest import TOPICS, Tokbench
from tests.support.small_report import whole
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.corpus.documents import Document
from tokbench.examples.columns import EDGES, cuts_text, rows, width_of
from tokbench.examples.cut import cut, disputed_boundaries, visible
from tokbench.examples.tables import (
    CONFIGURED,
    CUTS,
    EXAMPLES,
    OF_DOCUMENT,
    OF_LANGUAGE,
    SENTENCES,
    Candidate,
    ShownSentence,
    candidates,
    choose_sentences,
    cuts,
    difference,
    examples,
    sentences,
)
from tokbench.report.html import render, sections, tables
from tokbench.report.sections.experiment import examples as section
from tokbench.stages.report import CORPORA, TOKENIZERS, ExampleTargets
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SENTENCE = "A sentence long enough to be shown to a reader, it seems."


def greedy(*tokens: bytes, name: str = "") -> Tokenizer:
    return Tokenizer(Vocabulary((*BYTES, *tokens)), "none", "greedy", name=name)


def test_sentences_of_a_text() -> None:
    numbers = "12345 67890 " * 5
    text = f"Short one. {SENTENCE} {SENTENCE}\n\n  {SENTENCE[:-1]}!\n{numbers}".encode()
    assert list(sentences(text)) == [SENTENCE, SENTENCE, SENTENCE[:-1] + "!"]
    assert list(sentences(SENTENCE.encode() + b" \xff " + SENTENCE.encode())) == []
    assert list(sentences(f"{SENTENCE}\u202e".encode())) == []
    chinese = "这是一个足够长的句子可以展示给读者看看它是怎样被切开的。"
    assert list(sentences((chinese * 2).encode())) == [chinese, chinese]


@given(st.binary(max_size=300))
def test_sentences_of_any_bytes(text: bytes) -> None:
    for sentence in sentences(text):
        assert sentence.encode() in text
        assert 40 <= len(sentence.encode()) <= 160
        assert "\n" not in sentence


def test_candidates_are_bounded() -> None:
    documents = (Document(number, "en", f"{SENTENCE} ".encode() * 20) for number in range(100_000))
    read = iter(documents)
    found = list(candidates(document for document, _ in zip(read, range(200), strict=False)))
    assert len(found) == OF_LANGUAGE
    assert max(one.document for one in found) == OF_LANGUAGE // OF_DOCUMENT - 1


def test_those_that_differ_most_are_chosen() -> None:
    """Two tokenizers differ only on ab: selects the sentence with most ab, one per document, languages by name."""
    two = greedy(), greedy(b"ab")
    assert difference(b"xabx", two) == 1 / 4
    found = [
        Candidate(1, "en", "ab none here"),
        Candidate(1, "en", "abababab"),
        Candidate(2, "en", "no such thing"),
        Candidate(3, "en", "ab ab ab ab"),
        Candidate(4, "de", "nichts"),
    ]
    assert [sentence.text for sentence in choose_sentences(found, two, 4)] == [
        "nichts",
        "abababab",
        "ab ab ab ab",
    ]
    assert [sentence.text for sentence in choose_sentences(found, two, 1)] == ["nichts"]
    many = [Candidate(number, f"{number:03}", SENTENCE) for number in range(100)]
    assert len(choose_sentences(many, two, SENTENCES)) == SENTENCES
    assert [sentence.document for sentence in choose_sentences(many[:5], [greedy()], 24)] == [
        0,
        1,
        2,
        3,
        4,
    ]


def content(texts: Sequence[str], *tokenizers: Any) -> Any:
    """Return a small report with these sentences."""
    folders = {tokenizer.name: tokenizer for tokenizer in tokenizers}
    given = [ShownSentence("", CONFIGURED, Candidate(-1, "", text), list(folders)) for text in texts]
    frames = {"examples": examples(given), "cuts": cuts(given, folders)}
    EXAMPLES.check(frames["examples"])
    CUTS.check(frames["cuts"])
    base = whole()
    declared = [*base.declared, EXAMPLES, CUTS]
    return type(base)(**{**_fields(base), "declared": declared, "frames": {**base.frames, **frames}})


def _fields(base: Any) -> dict[str, Any]:
    return {name: getattr(base, name) for name in base.__dataclass_fields__ if not name.startswith("_")}


def page(tmp_path: Path, made: Any) -> str:
    """Return the section of sentences on a page without other content."""
    alone = {name: made.frames[name] for name in ("examples", "cuts")}
    render(type(made)(**{**_fields(made), "frames": alone}), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    start = text.index('<section id="examples">')
    return text[start : text.index("</section>", start)]


def test_the_page_shows_every_token_with_its_id(tmp_path: Path) -> None:
    made = content(["abc ab"], greedy(b"ab", name="one"), greedy(b"bc", name="two"))
    part = page(tmp_path, made)
    spans = re.findall(r'<span class="t( d)?" data-id="(\d+)" title="\2: ([0-9a-f ]+)">([^<]*)</span>', part)
    assert [(bool(differs), int(one), text) for differs, one, _, text in spans] == [
        (False, 256, "ab"), (False, 99, "c"), (False, 32, "␣"), (False, 256, "ab"),
        (True, 97, "a"), (True, 256, "bc"), (False, 32, "␣"), (True, 97, "a"), (True, 98, "b"),
    ]  # fmt: skip
    assert "one <small>4</small>" in part
    assert "all of 257 tokens" in part
    assert "Orange: one has no token with these bounds." in part
    assert 'id="show-ids"' in part


ODD = '<script>alert("1")</script> &amp; \u202eevil\u202c \u200b\x1b[31m\x00 \u0301 <!-- --> {{ 7 }}'


def test_the_page_is_safe(tmp_path: Path) -> None:
    part = page(
        tmp_path, content([ODD, "שלום"], greedy(b"<script>", b"--> ", "ש".encode(), "\u202e".encode(), name="one"))
    )
    assert "<script" not in part
    assert "<!--" not in part
    assert "&lt;script&gt;" in part
    assert not re.search("[\x00-\x09\x0b-\x1f\u200b\u202a-\u202e]", part)
    assert "⟨U+202E⟩" in part
    assert 'dir="rtl"' in part
    assert "⟨d7⟩" in part


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_text_is_shown_token_by_token(text: str) -> None:
    [shown] = section(content([text], greedy(name="one"))).exhibits
    [(_, tokens)] = shown.rows  # type: ignore[union-attr]
    assert bytes.fromhex("".join(token.data for token in tokens)) == text.encode()
    assert all(token.text and token.text.isprintable() for token in tokens)


def test_without_sentences_there_is_no_section() -> None:
    assert "examples" not in [one.identifier for one in sections(whole())]
    named = [table.name for table in tables(whole())]
    assert [table.name for table in tables(content(["abc"], greedy(name="one")))] == named


def experiment(**more: Any) -> Experiment:
    settings = {
        "name": "small",
        "corpora": {"text": {"source": "embedded"}},
        "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
        "sizes": [300, 400],
    }
    return Experiment.model_validate(settings | more)


def test_a_thousand_variants_are_bounded() -> None:
    variants = {f"v{number}": {"pretokenization": "gpt2", "construction": "bpe"} for number in range(1000)}
    variants["v7"]["sizes"] = [350]  # type: ignore[assignment]
    asked = ExampleTargets(experiment(variants=variants, report={"baseline": "v999", "examples": ["One."]}))
    assert len(asked.tokenizers) == TOKENIZERS
    assert [one.variant for one in asked.of("text")] == ["v999", *(f"v{number}" for number in range(TOKENIZERS - 1))]
    assert {one.variant: one.size for one in asked.shown}["v7"] == 350
    assert {one.size for one in asked.shown if one.variant != "v7"} == {400}


def test_many_corpora_are_bounded() -> None:
    corpora = {f"c{number}": {"source": "embedded"} for number in range(60)}
    variants = {f"v{name}": {"pretokenization": "gpt2", "construction": "bpe", "corpus": name} for name in corpora}
    asked = ExampleTargets(experiment(corpora=corpora, variants=variants))
    assert len(asked.tokenizers) == len(asked.corpora) == CORPORA


def test_counts_alone_have_the_user_s_sentences() -> None:
    counted = {"un": {"source": {"type": "counts", "path": "un.tsv"}}}
    assert not ExampleTargets(experiment(corpora=counted)).any
    asked = ExampleTargets(experiment(corpora=counted, report={"examples": ["One."]}))
    assert asked.any
    assert (asked.corpora, asked.shards(None, SimpleNamespace(corpus=[]))) == ([], [])
    assert [tokenizer.variant for tokenizer in asked.tokenizers] == ["bpe"]


def test_sentences_in_the_configuration() -> None:
    for wrong in ([""], ["a" * 501], ["a"] * 21):
        with pytest.raises(ValueError, match="examples"):
            experiment(report={"examples": wrong})
    assert not check(experiment(report={"examples": ["a"]}))


def test_the_command(tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents become tables and a page, with identical bytes in two runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(b"\n\n".join(TOPICS))
    corpus = {"source": {"type": "text", "path": ["text.txt"], "documents": "paragraph"},
              "splits": {"tokenizer": 0.5, "evaluation": 0.5}}  # fmt: skip
    tokbench("prepare", "--recipe", json.dumps(corpus), "-o", "corpus", "text.txt")
    tokbench("count", "--scheme", "gpt2", "text.txt", "-o", "counts.parquet")
    recipe = {"examples": ["One of mine."], "shown": ["bpe/300"], "corpora": {"text": ["bpe/300", "unigram/300"]}}
    for name in ("bpe", "unigram"):
        place = f"tokenizers/{name}/300"
        built = tokbench("build", name, "--counts", "counts.parquet", "--size", 300, "--name", name, "-o", place)
        assert built.status == 0, built.stderr
    call = ["cut_examples", "--recipe", json.dumps(recipe), "--shard", "text=corpus/evaluation/0000.parquet"]
    call += ["--tokenizer", "tokenizers/bpe/300", "--tokenizer", "tokenizers/unigram/300"]
    for folder in ("examples", "again"):
        outcome = tokbench(*call, "-o", folder)
        assert outcome.status == 0, outcome.stderr
    made = pl.read_parquet("examples/examples.parquet")
    assert made["source"].to_list() == ["configuration", *["evaluation split"] * 3]
    tokens = pl.read_parquet("examples/cuts.parquet")
    joined = tokens.group_by("example", "variant").agg(pl.col("token").str.join(""))
    texts = dict(made.select("example", "text").iter_rows())
    for number, variant, token in joined.iter_rows():
        assert bytes.fromhex(token).decode() == texts[number], variant
    assert tokens.filter(example=1)["variant"].unique().to_list() == ["bpe"]
    for name in ("examples.parquet", "cuts.csv"):
        assert Path("examples", name).read_bytes() == Path("again", name).read_bytes()
    unknown = json.dumps(recipe | {"shown": ["sage/300"]})
    message = tokbench(*call[:2], unknown, *call[3:], "-o", "x").message
    assert "--recipe: no --tokenizer is the folder of sage/300" in message


def test_the_workflow_and_the_recipe_agree() -> None:
    asked = ExampleTargets(experiment(report={"examples": ["One."]}))
    assert json.loads(asked.recipe) == {
        "examples": ["One."], "shown": ["bpe/400"], "corpora": {"text": ["bpe/400"]},
    }  # fmt: skip
    for read in ("elsewhere/text", ["elsewhere/text"]):
        shards = asked.shards(None, SimpleNamespace(corpus=read))
        assert shards == ["--shard", "text=elsewhere/text/evaluation/0000.parquet"]


SCRIPTS = "a é漢\u0301\u200d\u202e😀🏽👩\ufe0f\u0645\u05d0\u093f\n\t\u3000\u1161\u115f'🇩🇪"
TEXT = st.one_of(st.binary(max_size=60), st.text(st.sampled_from(SCRIPTS), max_size=30).map(str.encode))


def show_greedy(*tokens: bytes, scheme: str = "none") -> Tokenizer:
    return Tokenizer(Vocabulary((*BYTES, *tokens)), scheme, "greedy")


BYTEWISE = show_greedy()
COARSE = show_greedy("é".encode(), "漢".encode(), b"a ", b"aaaaaaaa", "😀\u200d".encode())


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"plain text", "plain␣text"),
        (b"\t\r\n", "⇥␍⏎"),
        ("é漢😀".encode(), "é漢😀"),
        ("é".encode()[:1], "⟨c3⟩"),
        ("漢".encode()[1:] + b"a", "⟨bc⟩⟨a2⟩a"),
        (b"\xff\x00", "⟨ff⟩⟨U+0000⟩"),
        (b"\xed\xa0\x80", "⟨ed⟩⟨a0⟩⟨80⟩"),
        ("\u200b\u202e\u2066\ufeff".encode(), "⟨U+200B⟩⟨U+202E⟩⟨U+2066⟩⟨U+FEFF⟩"),
        ("\u0301e".encode(), "◌\u0301e"),
        ("e\u0301".encode(), "e\u0301"),
        (" \u0301".encode(), "␣◌\u0301"),
        ("👩\u200d👧👍🏽❤\ufe0f".encode(), "👩⟨U+200D⟩👧👍⟨U+1F3FD⟩❤⟨U+FE0F⟩"),
        ("\u00a0\u3000\u2028\u3164\ue000".encode(), "⟨U+00A0⟩⟨U+3000⟩⟨U+2028⟩⟨U+3164⟩⟨U+E000⟩"),
        (b"", ""),
    ],
)
def test_visible(data: bytes, shown: str) -> None:
    assert visible(data) == shown


@given(TEXT)
def test_nothing_hides(data: bytes) -> None:
    """The visible form is one line without controls and direction marks, and the bytes can be recovered."""
    shown = visible(data)
    assert not regex.search(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]", shown)
    assert not regex.match(r"\p{M}", shown)
    assert (shown == "") == (data == b"")
    assert shown.encode("utf-8").decode() == shown
    assert width_of(shown) >= (1 if data else 0)


@given(TEXT)
def test_common_boundaries_are_in_the_same_column(text: bytes) -> None:
    """Every row has the width of its cells, and a common boundary is in the same column in both rows."""
    cuts = [cut("bytes", BYTEWISE, text), cut("coarse", COARSE, text)]
    for row in rows(cuts, text, 30) if text else ():
        ends: list[set[int]] = []
        for cells in row:
            column, seen = 0, set()
            for cell in cells:
                assert width_of(cell.text) <= cell.width
                assert len(cell.id) <= cell.width
                column += cell.width + 1
                seen.add(column)
            ends.append(seen)
        assert ends[1] <= ends[0]
        assert max(ends[0]) == max(ends[1])


@given(TEXT, st.integers(20, 120))
@example("😀\u200d".encode(), 25)
def test_all_tokens_are_shown_once(text: bytes, width: int) -> None:
    cuts = [cut("bytes", BYTEWISE, text), cut("coarse", COARSE, text)]
    for one, cells in zip(cuts, _cells(cuts, text, width), strict=True):
        assert [int(cell.id) for cell in cells if cell.id] == [token.id for token in one.tokens]
        assert "".join(cell.text for cell in cells).replace("◌", "") == "".join(
            visible(token.data) for token in one.tokens
        ).replace("◌", "")


def _cells(cuts: Any, text: bytes, width: int) -> list[Any]:
    made = list(rows(cuts, text, width)) if text else []
    return [[cell for row in made for cell in row[place]] for place in range(len(cuts))]


def test_a_long_token_goes_on_in_the_next_row() -> None:
    text = b"x" * 100
    shown = cuts_text([cut("long", show_greedy(text), text)], text, 48, False)
    assert shown.count(EDGES["goes on"]) == 2
    assert shown.count("x") == 100


def test_positions_with_differing_tokens_are_found_and_coloured() -> None:
    cuts = [cut("a", show_greedy(b"ab"), b"abc"), cut("b", show_greedy(b"bc"), b"abc")]
    assert disputed_boundaries(cuts) == {1, 2}
    plain, coloured = (cuts_text(cuts, b"abc", 80, colour) for colour in (False, True))
    assert plain.splitlines()[:4] == ["a ab ┃c │", "  256 99", "b a ┃bc │", "  97 256"]
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_bytes_of_no_character_are_placed() -> None:
    text = "é".encode()
    assert [token.data for token in cut("", BYTEWISE, text).tokens] == [b"\xc3", b"\xa9"]


class Prefixed:
    """A tokenizer that adds a space before every text, like SentencePiece, optionally with offsets."""

    def __init__(self, told: str) -> None:
        if told == "spans":
            self.offsets: Any = lambda text: [(place, place + 1) for place in range(len(text))]
        elif told == "bounds":
            self.offsets = lambda text: list(range(len(text) + 1))
        elif told == "gaps":
            self.offsets = lambda text: [(0, 1), (0, 2)]

    def encode(self, text: bytes) -> list[int]:
        return list(text)

    def decode(self, ids: list[int]) -> bytes:
        return b" " + bytes(ids)


@pytest.mark.parametrize("how", ["spans", "bounds", "gaps", ""])
def test_tokens_that_are_not_the_text(how: str) -> None:
    one, told = cut("odd", Prefixed(how), b"ab"), how in ("spans", "bounds")
    assert one.placed == told
    shown = cuts_text([one, cut("bytes", BYTEWISE, b"ab")], b"ab", 80, False)
    assert ("its tokens are not the bytes of the text" in shown) != told
    assert ("␣a(97)│␣b(98)│" in shown) != told
    assert "odd: 2 tokens" in shown


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    counts = library.count(TOPICS)
    folders = [tmp_path / name for name in ("bpe", "unigram")]
    for folder in folders:
        library.build(folder.name, counts, 600).save(folder)
    return folders


def test_show_the_command(two: list[Path], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "90")
    text = "The for statement, naïve"
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    by_argument = tokbench("show", *two, text)
    assert by_argument.stdout == tokbench("show", *two, "-", stdin=text.encode()).stdout
    assert by_argument.stdout == tokbench("show", *two, "--file", tmp_path / "text.txt").stdout
    assert b"\x1b" not in by_argument.stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert b"\x1b[30;48;5;" in tokbench("show", *two, text).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert tokbench("show", *two, text).stdout == by_argument.stdout
    longer = text * 500
    assert tokbench("show", *two, longer).stdout == tokbench("show", *two, "-", stdin=longer.encode()).stdout
    told = json.loads(tokbench("show", *two, "--json", text).stdout)
    assert [one["name"] for one in told["tokenizers"]] == ["bpe", "unigram"]
    for one in told["tokenizers"]:
        assert bytes.fromhex("".join(token["hex"] for token in one["tokens"])) == text.encode()


def test_a_text_that_is_no_text(two: list[Path], tokbench: Tokbench) -> None:
    shown = tokbench("show", two[0], "-", stdin=b"\xff\x1b[31m\xe2\x80\xae").stdout.decode()
    assert "⟨ff⟩" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text"], "show: no tokenizer or no text; tokbench show TOKENIZER 'some text'"),
        (["nowhere", "text"], "nowhere: not a folder of a tokenizer"),
        (["--file", "nowhere"], "Missing argument"),
    ],
)
def test_rejections(arguments: list[str], message: str, tokbench: Tokbench) -> None:
    assert message in tokbench("show", *arguments).message


def test_a_text_that_is_too_long(two: list[Path], tokbench: Tokbench) -> None:
    message = tokbench("show", two[0], "-", stdin=b"a" * 100_001).message
    assert message == "tokbench: show: the text has 100,001 bytes; pass 100,000 or fewer"
