"""Patterns compiled to scanners, against the ``regex`` package."""

import random
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.texts import ASCII, CHARACTERS, DEEPSEEK, PATTERNS_PIECES, PATTERNS_TEXTS, PROSE, WELL_KNOWN
from tokbench.kernels.count import Counter
from tokbench.kernels.pattern import PatternScanner, set_width
from tokbench.kernels.scan import boundaries, settled_after, settled_before
from tokbench.pretokenization.patterns.borders import borders_of
from tokbench.pretokenization.patterns.characters import property_of, shorthand
from tokbench.pretokenization.patterns.masks import masks_of
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokenization.patterns.scanner import compile_scanner
from tokbench.pretokenization.patterns.sequence import _texts, automaton_of_sequence
from tokbench.pretokenization.patterns.unicode_properties import CATEGORIES, SCRIPTS
from tokbench.reference import segmentation as twin

EVERY = "".join(map(chr, range(0x110000)))
NAMES = list(WELL_KNOWN)
MOST_STEPS = 5
"""Steps through an automaton, to a byte of text."""


@cache
def scanner(name: str) -> PatternScanner:
    found = compile_scanner(WELL_KNOWN[name])
    assert isinstance(found, PatternScanner), name
    return found


def pieces(name: str, text: str) -> list[str]:
    ends = boundaries(scanner(name), text.encode()).tolist()
    return [text.encode()[start:end].decode() for start, end in pairwise(ends)]


@given(PATTERNS_TEXTS)
@settings(max_examples=300, deadline=None)
def test_pieces_are_those_of_regex(text: bytes) -> None:
    for name, pattern in WELL_KNOWN.items():
        found = boundaries(scanner(name), text)
        assert found.dtype == np.int64
        assert found.tolist() == twin.boundaries(pattern, text), name


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point(name: str) -> None:
    """Surrogates are encoded too: in UTF-8 they are three invalid bytes each."""
    text = EVERY.encode("utf-8", "surrogatepass")
    assert boundaries(scanner(name), text).tolist() == twin.boundaries(WELL_KNOWN[name], text)


@cache
def at_borders() -> str:
    """Characters at which a property begins or ends."""
    codes = {0, 0x10FFFF}
    for word in (CATEGORIES + SCRIPTS).replace("-", " ").split():
        if not word.endswith(":"):
            codes |= {int(word, 16) + step for step in (-1, 0, 1)}
    return "".join(chr(code) for code in sorted(codes & set(range(0x110000)) - set(range(0xD800, 0xE000))))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("context", ["a{}b '{}s", " {}\n{}\n", "1{}'S-{}E"])
def test_code_points_in_contexts(name: str, context: str) -> None:
    text = "".join(context.replace("{}", character) for character in at_borders()).encode()
    assert boundaries(scanner(name), text).tolist() == twin.boundaries(WELL_KNOWN[name], text)


@pytest.mark.parametrize("name", NAMES)
def test_stretches_of_masks(name: str) -> None:
    """Prose and runs of ASCII of every length, at every position within words of 64 bytes; now and then another
    character."""
    draw = random.Random(0)
    runs = [draw.choice(ASCII) * draw.choice([1, 1, 1, 2, 3, draw.randrange(200)]) for _ in range(3_000)]
    prose = [draw.choice(PROSE * 20 + PATTERNS_PIECES) for _ in range(30_000)]
    text = b"".join(prose[:15_000] + runs + prose[15_000:])
    expected = twin.boundaries(WELL_KNOWN[name], text)
    try:
        for width in (0, 16, 32, 64):
            assert set_width(width)
            assert boundaries(scanner(name), text).tolist() == expected
    finally:
        set_width(64)


@pytest.mark.parametrize("name", NAMES)
def test_ascii_is_cut_by_masks(name: str) -> None:
    """Patterns that distinguish ASCII characters are split 64 bytes at a time."""
    pattern = WELL_KNOWN[name]
    automaton = automaton_of_sequence((pattern,) if isinstance(pattern, str) else tuple(pattern))
    apart = len(set(automaton.symbols.classes.of_ascii())) > 1
    assert (masks_of(automaton, borders_of(automaton)) is not None) == apart


@pytest.mark.parametrize("name", NAMES)
def test_boundaries_do_not_depend_on_earlier_pretokens(name: str) -> None:
    text = "  It's\xa0 1984,\n\n they'd  say: 'll \xa0\u3000x 一か゛1 HeLLo's \x00\x00a ".encode() * 8
    found = boundaries(scanner(name), text).tolist()
    for index, start in enumerate(found[:-1]):
        assert (boundaries(scanner(name), text[start:]) + start).tolist() == found[index:]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt2", "I|'|LL| pay| 12345| now|!!|\n\n | ok"),
        ("cl100k", "I|'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("qwen2", "I|'LL| pay| |1|2|3|4|5| now|!!\n\n| | ok"),
        ("o200k", "I'LL| pay| |123|45| now|!!\n\n| | ok"),
    ],
)
def test_examples(name: str, expected: str) -> None:
    assert pieces(name, "I'LL pay 12345 now!!\n\n  ok") == expected.split("|")


def test_unmatched_text_is_one_pretoken() -> None:
    assert pieces("deepseek_v3, 1", "in 1984, say") == ["in ", "198", "4", ", say"]
    assert pieces("superbpe 2", "so... what  now") == ["so", "...", " what", " ", " now"]


def test_a_sequence_cuts_the_pieces_of_the_one_before() -> None:
    assert pieces("deepseek_v3", "a 1234かな゛x") == ["a", " ", "123", "4", "かな", "゛", "x"]
    assert boundaries(scanner("deepseek_v3"), "\u3040\x00".encode()).tolist() == [0, 3, 4]
    assert compile_scanner([r"\p{N}{1,3}", "a|[^a]"]) is None
    assert compile_scanner([r"\p{L}+", r"[\p{L}x]+", "a"]) is None
    assert compile_scanner(["ab|c", "a"]) is None
    assert compile_scanner([]) is None


# The language


def test_small_sets_of_possible_runs_are_listed() -> None:
    """Texts of ten letters: 1,110 of up to three, 11,110 of up to four."""
    assert len(_texts(range(10), 3)) == 1_110
    for most in (4, 5):
        with pytest.raises(LanguageError):
            _texts(range(10), most)


def test_properties_are_those_of_regex() -> None:
    """On failure: ``python tools/make_unicode_classes.py``."""
    names = [word[:-1] for word in (CATEGORIES + SCRIPTS).split() if word.endswith(":")]
    for name in [*names, *"LMNPSZC", "Script=Han", "sc=Latin"]:
        spans = tuple((run.start(), run.end() - 1) for run in regex.finditer(rf"\p{{{name}}}+", EVERY))
        assert property_of(name) == spans, name
    for letter in "sdwSDW":
        spans = tuple((run.start(), run.end() - 1) for run in regex.finditer(rf"\{letter}+", EVERY))
        assert shorthand(letter) == spans, letter


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?i:[a-z])", "(?i:k|s)x?", "(?i:'s|[aei]K)", r"[\x41-\x43\u00e9-\u0100\U0001F600]", r"\n|\t|\r|\.|\-|\'"),
        *(
            r"[\]\-a\\]+",
            "[a-]",
            "[^-a]",
            r"[\d-]+",
            r"[\s\S]",
            r"[^\W_]+",
            r"\p{^L}",
            r"\P{L}+",
            r"\pL\PL",
            r".",
            r"[\p{P}$^.|+*]",
        ),
    ],
)
def test_sets_on_every_code_point(pattern: str) -> None:
    made = compile_scanner(pattern)
    assert made is not None
    text = EVERY.encode("utf-8", "surrogatepass")
    assert boundaries(made, text).tolist() == twin.boundaries(pattern, text)


@pytest.mark.parametrize("characters", ["A-Za-z", "Aa", "Ab", "A-Cb-d", "@`", r"\[{", "A-Zb-z"])
def test_either_case(characters: str) -> None:
    """Runs that lie as far apart as the cases of a letter are looked for at once, others are not."""
    draw = random.Random(0)
    text = "".join(draw.choices("ABCZabcdz@`[{ !", k=5_000)).encode()
    pattern = rf"[{characters}]+|[^{characters}]+"
    made = compile_scanner(pattern)
    assert made is not None
    assert boundaries(made, text).tolist() == twin.boundaries(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"\bword",
            "^a",
            r"\Aa",
            r"(?<=a)b",
            r"(?<!a)b",
            r"(a)\1",
            "(?>a|ab)c",
            "(?:ab)++",
            "(?P<x>a)",
            "(?i)a",
            "(?x: a)",
        ),
        *(
            "a*",
            "(?:a?)+",
            "",
            "a|",
            r"(?=a)",
            r"$",
            "(?=ab)c",
            "(?!a|bc)d",
            "(?:a{2,1})",
            "a{,2}",
            "a{1001}",
            "[[:alpha:]]",
        ),
        *(
            "[a--b]",
            "[a&&b]",
            "[]a]",
            "[b-a]",
            r"[\d-x]",
            "[a",
            "(a",
            "a)",
            "a**",
            "+a",
            r"\q",
            r"\1",
            r"\p{Nothing}",
            r"\p{L",
            r"\x4",
        ),
        *("(?i:é)", "(?i:[^a])", r"(?i:\p{Lu})", r"\X", r"\R", r"a{e<=1}", r"\m", "\\", "(?:abcdefgh){100}" * 10),
    ],
)
def test_patterns_outside_the_dialect_are_not_compiled(pattern: str) -> None:
    assert compile_scanner(pattern) is None


SETS = ["a", "b", " ", "\n", "1", "'", "é", "[ab]", "[^a]", r"\s", r"\S", r"\w", r"\p{L}", r"[^\s\p{L}]", ".", r"\d"]
AHEAD = [r"(?!\S)", "(?=a)", "(?!b)", "$", r"\Z", r"(?=\s|$)", r"(?![a1]|\Z)"]
COUNTS = ["", "", "", "?", "+", "*", "{2}", "{1,3}", "{2,}", "??", "+?", "*?", "{1,2}?"]


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> str:
    options = []
    for _ in range(draw(st.integers(1, 3))):
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.integers(0, 9))
            if kind == 0:
                parts.append(draw(st.sampled_from(AHEAD)))
            elif kind <= 2 and depth:
                parts.append(f"(?:{draw(patterns(depth - 1))}){draw(st.sampled_from(COUNTS))}")
            elif kind == 3:
                parts.append(draw(st.sampled_from(SETS)) + draw(st.sampled_from(["?+", "++", "*+", "{1,2}+"])))
            else:
                parts.append(draw(st.sampled_from(SETS)) + draw(st.sampled_from(COUNTS)))
        options.append("".join(parts))
    return "|".join(options)


SMALL = st.text("aab  \n1'é.", max_size=40).map(str.encode)


@given(st.lists(patterns(), min_size=10, max_size=10), st.lists(SMALL, min_size=3, max_size=6), st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_random_patterns(drawn: list[str], texts: list[bytes], times: int) -> None:
    """Compiled patterns split as the engine does, with masks, too, and settled places are settled."""
    for pattern in drawn:
        made = compile_scanner(pattern)
        long = b"".join(texts) * times
        if made is None or backtracks_for_ever(pattern, long):
            continue
        for text in [*texts, long]:
            assert boundaries(made, text).tolist() == twin.boundaries(pattern, text)
        before, text, after = texts[:3]
        check_settled(made, pattern, before, text, after)


def backtracks_for_ever(pattern: str, text: bytes) -> bool:
    try:
        for _ in regex.finditer(pattern, text.decode(), timeout=0.5):
            pass
    except TimeoutError:
        return True
    return False


def check_settled(
    made: PatternScanner, pattern: str | tuple[str, ...], before: bytes, text: bytes, after: bytes
) -> None:
    whole = before + text + after
    found = twin.boundaries(pattern, whole)
    places = [place for place in range(len(text)) if settled_after(made, text, place) == place]
    for place in places:
        cut = len(before) + place
        left, right = (twin.boundaries(pattern, part) for part in (whole[:cut], whole[cut:]))
        assert found == left + [cut + end for end in right[1:]]
    for place in range(0, len(text) + 1, 7):
        assert settled_after(made, text, place) == min([p for p in places if p >= place], default=len(text))
        assert settled_before(made, text, place) == max([p for p in places if p < place], default=0)


SHORT = st.one_of(
    st.lists(st.sampled_from(PATTERNS_PIECES), max_size=25).map(b"".join),
    st.lists(st.sampled_from(PROSE), max_size=30).map(b"".join),
)


@given(SHORT, SHORT, SHORT)
@settings(max_examples=100, deadline=None)
def test_settled_places(before: bytes, text: bytes, after: bytes) -> None:
    """A cut at a settled place changes no piece, whatever stands around the text that was looked at."""
    for name, pattern in WELL_KNOWN.items():
        check_settled(scanner(name), pattern, before, text, after)


def test_settled_places_are_found() -> None:
    """In prose there is one in reach, in scripts without spaces at their punctuation."""
    for name in ("gpt2", "cl100k", "qwen2", "o200k", "tekken", "nanochat", "deepseek_v3"):
        assert settled_after(scanner(name), b"some words and 1 digit", 5) <= 10, name
        assert settled_before(scanner(name), b"some words and 1 digit", 18) >= 14, name
        assert settled_after(scanner(name), b"some words\n\nand more", 8) <= 12, name
    assert settled_after(scanner("o200k"), "東京。東京は。1".encode(), 4) <= 18
    everything = compile_scanner(r"[\s\S]+")
    assert everything is not None
    assert not everything.settles
    assert settled_after(everything, b"some words", 0) == 10
    assert settled_before(everything, b"some words", 10) == 0


# Time


@pytest.mark.parametrize("name", NAMES)
def test_time_is_linear(name: str) -> None:
    """Counted in steps, over runs of one character or two, long enough to tell."""
    signs = " \n\r'a1.-/A\xa0é一か\x00\u0301"
    for first, second in product(signs, repeat=2):
        for text in (first * 3000 + second, (first + second) * 1500, (first * 40 + second) * 75):
            data = text.encode()
            assert scanner(name).steps_over(data) <= MOST_STEPS * len(data), (name, text[:50])


@pytest.mark.parametrize("pattern", ["a*b|a", r"(?:ab)*c|a|b", r"[ab]*c|a|b", "a+b", r"\s+x|\s"])
def test_patterns_that_would_take_longer_are_not_compiled(pattern: str) -> None:
    assert compile_scanner(pattern) is None


# The kernel


def test_empty_text_and_long_pieces() -> None:
    for name in NAMES:
        assert boundaries(scanner(name), b"").tolist() == [0]
    assert boundaries(scanner("cl100k"), b"a" * 100_000 + b" b").tolist() == [0, 100_000, 100_002]


def test_counters_with_patterns_stop_at_their_lease() -> None:
    text = " ".join(CHARACTERS).encode() * 3
    for name in NAMES:
        counter = Counter(scanner(name))
        counter.lease(5, 1 << 20)
        assert counter.add(text) < len(text)
        whole = Counter(scanner(name))
        assert whole.add(text) == len(text)
        data, offsets, counts = whole.counts()
        ends = twin.boundaries(WELL_KNOWN[name], text)
        assert int(counts.sum()) == len(ends) - 1
        assert {data[a:b].tobytes() for a, b in pairwise(offsets)} == {text[a:b] for a, b in pairwise(ends)}


def test_wrong_tables_are_rejected() -> None:
    index, blocks = np.zeros(4352, np.uint16), np.zeros((1, 256), np.uint8)
    steps = np.array([[0, 0], [2, 0], [2 | 1 << 31, 1 << 31]], np.uint32)
    good = [index, blocks, steps, [0], [[0]], -1, [], [], (0, 0, 0, 1)]
    assert boundaries(PatternScanner(*good), b"abc").tolist() == [0, 3]  # type: ignore[arg-type]
    for place, wrong in (
        (0, index[1:]),
        (0, index + 1),
        (1, blocks + 1),
        (1, blocks[:, 1:]),
        (2, steps + 1),
        (2, steps[:, 1:]),
        (2, steps[:1]),
        (2, steps | np.uint32(1 << 31)),
        (4, [[0, 0]]),
        (5, 0),
        (6, [[32, 0, 0, 0]]),
        (7, [[0, 3, -1, 0]]),
        (8, (0, 0, 99, 1)),
        (8, (0, 0, 0, 0)),
    ):
        with pytest.raises(ValueError, match=r".+"):
            PatternScanner(*good[:place], wrong, *good[place + 1 :])  # type: ignore[arg-type]


def test_nothing_without_its_tables() -> None:
    with pytest.raises(TypeError):
        PatternScanner.__new__(PatternScanner)


def test_deepseek_pattern_is_compiled_completely() -> None:
    assert compile_scanner(list(DEEPSEEK)) is compile_scanner(DEEPSEEK)
