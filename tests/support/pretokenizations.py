"""Every pre-tokenization with options where it needs some, and texts on which they may differ."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tokbench.pretokenization import pretokenization_of, schemes

OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"\p{L}+(?=\p{N})|[^\s\p{L}]{1,4}|\s\p{Ll}*"},
    "sequence": {"steps": ["gpt2", {"method": "digits", "group": 2}, "scripts"]},
}
EVERY = [pretokenization_of({"method": name, **OPTIONS.get(name, {})}).text for name in schemes]
"""The settings on one line each."""
GROUPED = {"method": "sequence", "steps": ["gpt2", {"method": "digits", "group": 3}]}


def by(pattern: str) -> dict[str, Any]:
    return {"method": "regex", "pattern": pattern}


def pieces(setting: Any, text: str) -> list[str]:
    written = text.encode()
    bounds = pretokenization_of(setting).boundaries(written).tolist()
    return [written[start:end].decode() for start, end in pairwise(bounds)]


BLANKS = [" ", "  ", "\n", "\t", "\r\n", "\x0b", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u2028", "\u3000"]
WORDS = [
    "a",
    "Z",
    "it's",
    "I'LL",
    "'ll",
    "'re",
    "'ve",
    "'d",
    "'S",
    "''",
    "'",
    "don't",
    "naïve",
    "слово",
    "語",
    "𝒜",
    "e\u0301",
]
NUMBERS = ["0", "42", "٣", "७", "²", "Ⅷ", "½", "𝟙"]
SIGNS = [".", "-", "_", "\x00", "\x7f", "\u200b", "€", "😀", "\u0301", "\ufffd", "\U0010ffff"]
INVALID = [
    b"\x80",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xc0\xa0",
    b"\xc1\x81",
    b"\xe0\x80\xa0",
    b"\xf0\x82\x82\xac",
]
INVALID += [b"\xed\xa0\x80", b"\xed\xb3\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff\xfe"]
REAL_TEXTS = ["multilingual/udhr", "multilingual/flores101", "english/novels", "english/arxiv_sample"]
PIECES = [piece.encode() for piece in BLANKS + WORDS + NUMBERS + SIGNS] + INVALID
TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=60).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=150).map(b"".join),
    st.lists(st.sampled_from([b" ", b" ", b"\n", b"'", b"s", b"l", b"1", b"."]), max_size=300).map(b"".join),
)
