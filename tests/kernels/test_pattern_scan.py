"""Sequences of patterns as one automaton: a second cuts the pieces of the first, as one after the other would.

Where pre-tokenizations cut: patterns, steps, digits, scripts and metaspace; and patterns that do not end.
"""

import random
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.texts import EVERY, PRETOKENIZATIONS_TEXTS, by, pieces
from tokbench.errors import TokbenchError
from tokbench.kernels.scan import boundaries, settled_before
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns import cut
from tokbench.pretokenization.patterns.cut import cut_by_functions, regex_cut
from tokbench.pretokenization.patterns.scanner import compile_scanner
from tokbench.pretokenization.well_known import CL100K, NANOCHAT, O200K, TEKKEN
from tokbench.reference import segmentation as twin

GPT2 = str(pretokenization_of("gpt2").splits[0])  # type: ignore[index]
NUMBER, THREE, DIGIT, HAN, MARKED = r"\p{N}", r"\p{N}{1,3}", r"\d|[^\d]+", "[一-龥]", r"\p{L}\p{M}*"
COMPILED = [
    *((GPT2, second) for second in (NUMBER, THREE, DIGIT, HAN)),
    *((CL100K, second) for second in (NUMBER, THREE, MARKED)),
    *((O200K, second) for second in (NUMBER, THREE)),
    (TEKKEN, DIGIT),
    (NANOCHAT, THREE),
    (GPT2, THREE, NUMBER),
    (GPT2, HAN, NUMBER),
    (r"\p{N}{1,3}", GPT2, HAN),
    ("ab|[^a]|a", "b|[^b]+"),
]
NOT_COMPILED = [
    (GPT2, r"\s"),  # What is left of blanks is cut otherwise where a scan starts anew.
    (GPT2, "a+b"),  # It reads on in vain.
    (GPT2, r"\d+$"),  # It looks for the end, which every piece has.
    (CL100K, DIGIT),  # Numbers that are no digits count on.
    (r"\p{L}\p{M}*", NUMBER),  # It leaves text between its matches.
    ("a(?:bcd)?|[^a]", "b"),  # Whether the first goes on to there is not known there.
]
CLOSING = r" ?\p{L}+|\p{N}+|\n$|\s|[^\s\p{L}\p{N}]"
PIECES = [*"aB1\u00bd\u00b2 \n'\u4e2d\u00e9b!", "'s", "12", "1234", "  ", "e\u0301", "\u3000"]
REFINED_TEXTS = st.lists(st.sampled_from([*(one.encode() for one in PIECES), b"\xff", b"\xe4\xb8"]), max_size=40).map(
    b"".join
)


@pytest.mark.parametrize("patterns", COMPILED)
def test_pieces_are_those_of_one_after_the_other(patterns: tuple[str, ...]) -> None:
    scanner = compile_scanner(patterns)
    assert scanner is not None
    slow = cut_by_functions(*map(regex_cut, patterns), splits=patterns).boundaries

    @settings(max_examples=60)
    @given(REFINED_TEXTS, st.sampled_from([1, 12]))
    def agree(text: bytes, times: int) -> None:
        text *= times
        found = boundaries(scanner, text)
        assert found.tolist() == slow(text).tolist()
        if cut := settled_before(scanner, text, len(text)):
            parts = [*boundaries(scanner, text[:cut]).tolist(), *(boundaries(scanner, text[cut:])[1:] + cut).tolist()]
            assert parts == found.tolist()

    agree()


@pytest.mark.parametrize("pattern", [GPT2, CL100K, O200K, TEKKEN, NANOCHAT, CLOSING])
def test_texts_of_every_length(pattern: str) -> None:
    """The last bytes of a text are in an incomplete word of masks; ends of every kind are at every position."""
    scanner = compile_scanner((pattern,))
    assert scanner is not None
    slow = cut_by_functions(regex_cut(pattern), splits=(pattern,)).boundaries
    draw = random.Random(0)
    for _ in range(4):
        text = "".join(draw.choices([*"aB's 1./\r\n", "'ll", "'S", "é", "中", "  "], k=150)).encode()
        for end in range(180):
            assert boundaries(scanner, text[:end]).tolist() == slow(text[:end]).tolist()


@pytest.mark.parametrize("patterns", NOT_COMPILED)
def test_unsupported_patterns_are_not_compiled(patterns: tuple[str, ...]) -> None:
    assert compile_scanner(patterns) is None


@settings(max_examples=60)
@given(REFINED_TEXTS)
def test_steps_that_are_compiled_go_first(text: bytes) -> None:
    """Digits from the right are counted from the end of a number, which no scanner does; what precedes them is."""
    scheme = pretokenization_of(
        {"method": "sequence", "steps": ["gpt2", {"method": "regex", "pattern": HAN}, "digits"]}
    )
    assert scheme.scanner is None
    assert scheme.splits is not None
    slow = cut_by_functions(*map(regex_cut, scheme.splits), splits=scheme.splits).boundaries
    assert scheme.boundaries(text).tolist() == slow(text).tolist()


def test_a_sequence_of_schemes_has_a_scanner() -> None:
    scheme = pretokenization_of({"method": "sequence", "steps": ["gpt2", "digit"]})
    assert scheme.scanner is not None
    assert scheme.boundaries(b"in 1984, ").tolist() == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    assert pretokenization_of({"method": "sequence", "steps": ["none", "gpt2"]}).scanner is not None


@given(PRETOKENIZATIONS_TEXTS)
@settings(max_examples=150)
def test_any_bytes_are_cut_and_none_lost(text: bytes) -> None:
    for setting in EVERY:
        bounds = pretokenization_of(setting).boundaries(text)
        assert bounds.dtype == np.int64
        assert bounds[0] == 0
        assert bounds[-1] == len(text)
        assert (np.diff(bounds) > 0).all()


PATTERNS = [
    r"\w+",
    r"[^\n]{1,7}",
    r"\p{Lu}\p{Ll}*|\s",
    r"(?<=a)b",
    r"[\udc80-\udcff]+",
    r"(?V1)[\p{L}--[aeiou]]+",
    r"\X",
]


@given(PRETOKENIZATIONS_TEXTS)
@settings(max_examples=150)
def test_matches_and_gaps_are_pretokens(text: bytes) -> None:
    for pattern in PATTERNS:
        assert pretokenization_of(by(pattern)).boundaries(text).tolist() == twin.boundaries(pattern, text), pattern


@given(PRETOKENIZATIONS_TEXTS, st.lists(st.sampled_from([*PATTERNS, r"\d", " ?[^ ]+"]), min_size=1, max_size=3))
@settings(max_examples=150)
def test_steps_see_pieces(text: bytes, patterns: list[str]) -> None:
    sequence = {"method": "sequence", "steps": list(map(by, patterns))}
    assert pretokenization_of(sequence).boundaries(text).tolist() == twin.boundaries(patterns, text)


def test_invalid_bytes_are_characters_of_their_own() -> None:
    """Neither letter, number nor blank; lone surrogates in their place, by which a pattern can name them."""
    text = b"ab\xff\xe6\x9d1 \xed\xa0\x80"
    assert pretokenization_of(by(r"\w+|\s")).boundaries(text).tolist() == [0, 2, 5, 6, 7, 10]
    assert pretokenization_of(by(r"[\udc80-\udcff]")).boundaries(text).tolist() == [0, 2, 3, 4, 5, 7, 8, 9, 10]


@pytest.mark.parametrize("group", [1, 2, 3, 7])
@pytest.mark.parametrize("length", range(1, 30))
def test_digits_from_the_right(group: int, length: int) -> None:
    number = ("1234567890" * 3)[:length]
    setting = {"method": "digits", "group": group}
    assert pieces(setting, number) == twin.groups(number, group)
    assert pieces(setting, f"x{number} é{number}") == [
        "x", *twin.groups(number, group), " é", *twin.groups(number, group)
    ]  # fmt: skip
    [split] = pretokenization_of(setting).splits or ()
    assert pieces(setting, number) == regex.findall(split, number)


@given(st.text("1٣𝟙½a .", max_size=40), st.integers(1, 5))
def test_digits_are_those_of_their_pattern(text: str, group: int) -> None:
    scheme = pretokenization_of({"method": "digits", "group": group})
    assert scheme.boundaries(text.encode()).tolist() == twin.boundaries(scheme.splits, text.encode())


def test_a_long_number_takes_no_time() -> None:
    """The pattern would look ahead to its end from every group."""
    assert len(pretokenization_of("digits").boundaries(b"7" * 1_000_000)) == 333_335


def script_of(letter: str) -> str:
    """The script by the definition: Han with kana, marks and spaces apart."""
    if letter in " ":
        return ""
    for name in ("Inherited", "Latin", "Cyrillic", "Greek", "Thai", "Unknown"):
        if regex.match(rf"\p{{Script={name}}}", letter):
            return "" if name == "Inherited" else name
    han = regex.match(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc]", letter)
    return "Han" if han else "Common"


@given(st.text("ab жЖ中あアー1.,\u0301\n\tαก\u0378  ", max_size=40))
@settings(max_examples=300)
def test_scripts_change_where_text_is_cut(text: str) -> None:
    cut = pieces("scripts", text)
    assert "".join(cut) == text
    for piece in cut:
        assert len({script_of(letter) for letter in piece} - {""}) <= 1
    for left, right in pairwise(cut):
        of = [{script_of(letter) for letter in piece} - {""} for piece in (left, right)]
        assert of[0] != of[1]
        assert not left.endswith(" ")
        assert not unicodedata.combining(right[0])


def test_scripts_of_text() -> None:
    text = "Apples are りんご 林檎ー, cafe\u0301 naïve 12  "
    assert pieces("scripts", text) == ["Apples are", " りんご 林檎ー", ",", " cafe\u0301 naïve", " 12", "  "]
    assert len(pieces("scripts", " " * 20_000)) == 1


def test_metaspace_is_that_of_the_tokenizers_library() -> None:
    library = pytest.importorskip("tokenizers").pre_tokenizers
    theirs = library.Metaspace(prepend_scheme="never", split=True)

    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581") | st.just(" ")))
    def check(text: str) -> None:
        expected = [piece.replace("\u2581", " ") for piece, _ in theirs.pre_tokenize_str(text)]
        assert pieces("metaspace", text) == expected

    check()
    assert pieces("metaspace", "▁a ▁b") == ["▁a", " ▁b"]


def test_a_pattern_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "PATIENCE", 0.2)
    setting = by(r"(?:a|a)+b|x")
    with pytest.raises(TokbenchError, match=r"^pattern '\(\?:a\|a\)\+b\|x': needs more than 0 s for 61 char") as raised:
        pretokenization_of(setting).boundaries(b"x" + b"a" * 60)
    assert "is at 'aaaaaaaaaaaaaaaaaaaa" in str(raised.value)


def test_an_empty_match_that_no_probe_finds() -> None:
    with pytest.raises(TokbenchError, match=r"^pattern 'z\|\(\?=ж\)': matches the empty string before 'жук'"):
        pretokenization_of(by("z|(?=ж)")).boundaries("a жук".encode())
