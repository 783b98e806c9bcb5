"""How tokenizers cut a text, shown: nothing hides, borders stand below each other, and what differs is told apart."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

import tokbench as library
from tests.conftest import TOPICS, Tokbench
from tokbench.cuts.columns import rows, width_of
from tokbench.cuts.cut import cut, disputed
from tokbench.cuts.terminal import EDGES, cuts_text
from tokbench.cuts.visible import visible
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SCRIPTS = "a é漢\u0301\u200d\u202e😀🏽👩\ufe0f\u0645\u05d0\u093f\n\t\u3000\u1161\u115f'🇩🇪"
TEXT = st.one_of(st.binary(max_size=60), st.text(st.sampled_from(SCRIPTS), max_size=30).map(str.encode))


def greedy(*tokens: bytes, scheme: str = "none") -> Tokenizer:
    return Tokenizer(Vocabulary((*BYTES, *tokens)), scheme, "greedy")


BYTEWISE = greedy()
COARSE = greedy("é".encode(), "漢".encode(), b"a ", b"aaaaaaaa", "😀\u200d".encode())


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
    """One line of characters that show, no control and no mark of direction among them; the bytes can be told."""
    shown = visible(data)
    assert not regex.search(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]", shown)
    assert not regex.match(r"\p{M}", shown)
    assert (shown == "") == (data == b"")
    assert shown.encode("utf-8").decode() == shown
    assert width_of(shown) >= (1 if data else 0)


@given(TEXT)
def test_borders_stand_below_each_other(text: bytes) -> None:
    """Every row of every tokenizer is as wide as its cells say, and a border of two stands in one column in both."""
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
    shown = cuts_text([cut("long", greedy(text), text)], text, 48, False)
    assert shown.count(EDGES["goes on"]) == 2
    assert shown.count("x") == 100


def test_tokens_that_differ_are_told_apart() -> None:
    cuts = [cut("a", greedy(b"ab"), b"abc"), cut("b", greedy(b"bc"), b"abc")]
    assert disputed(cuts) == {1, 2}
    plain, coloured = (cuts_text(cuts, b"abc", 80, colour) for colour in (False, True))
    assert plain.splitlines()[:4] == ["a ab ┃c │", "  256 99", "b a ┃bc │", "  97 256"]
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_bytes_of_no_character_are_placed() -> None:
    text = "é".encode()
    assert [token.data for token in cut("", BYTEWISE, text).tokens] == [b"\xc3", b"\xa9"]


class Prefixed:
    """Says a blank before every text, as SentencePiece does, and tells offsets if it is asked to."""

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


def test_the_command(two: list[Path], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch) -> None:
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
        (["text"], "show: name a tokenizer before the text"),
        (["nowhere", "text"], "nowhere: no folder of a tokenizer"),
        (["--file", "nowhere"], "Missing argument"),
    ],
)
def test_rejections(arguments: list[str], message: str, tokbench: Tokbench) -> None:
    assert message in tokbench("show", *arguments).message


def test_a_text_that_is_too_long(two: list[Path], tokbench: Tokbench) -> None:
    message = tokbench("show", two[0], "-", stdin=b"a" * 100_001).message
    assert message == "tokbench: show: the text has 100,001 bytes; give 100,000 or fewer"
