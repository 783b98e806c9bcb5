"""Difficult texts for tests: damaged UTF-8, all scripts, edges of pre-tokenizations, runs, and tokens in odd contexts.

Also vocabularies and segmenters, published pre-tokenization patterns, all pre-tokenizations with options, and word
counts small enough to try every vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tokbench.pretokenization import pretokenization_of, schemes
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import Segmenter, segmentations
from tokbench.vocabulary import BYTES, Vocabulary

SCRIPTS = (
    *((0x20, 0x7E), (0xA1, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x5F4), (0x600, 0x6FF)),
    *((0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE01, 0xE5B), (0xF00, 0xFD4), (0x10A0, 0x10FF)),
    *((0x1100, 0x11FF), (0x1200, 0x137C), (0x1780, 0x17F9), (0x2000, 0x206F), (0x2070, 0x209C), (0x2150, 0x218B)),
    *((0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFE00, 0xFE0F), (0xFFF0, 0xFFFF)),
    *((0x10000, 0x1007F), (0x12000, 0x123FF), (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F6FF)),
    *((0x20000, 0x2A6DF), (0xE0020, 0xE007F), (0x10FFF0, 0x10FFFF)),
)
"""First and last code points of scripts, marks, digits, numerals, emoji and tags, and the last ones of Unicode."""

BLANKS = "\n \r\n \r \n\r \t \x0b \x0c \x1c \x1f \u0085 \u00a0 \u1680 \u180e \u2002 \u200b \u2028 \u3000 \ufeff"
QUOTES = "'s 't 're 've 'm 'll 'd 'S 'LL ' ''s ’s don't we'll I'd've rock'n'roll"
OTHERS = "0 1 007 ٣ ४ ² ½ Ⅷ 一 1a a1 3.14 1,000 _ - -- ... #! a A é e\u0301 ß \u200d \x00 \x7f"
SPECIALS = "<|endoftext|> <|padding|> </s> [UNK] <unk> ## ▁ Ġ Ċ ‿"
EDGES = [b" ", b"  ", *(text.encode() for text in f"{BLANKS} {QUOTES} {OTHERS} {SPECIALS}".split(" "))]
"""Strings at which pre-tokenizations may split, and strings that are special to some tokenizer."""

NOT_UTF8 = [
    *(b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xe0\x80\x80", b"\xe6\x9d", b"\xed\xa0\x80"),
    *(b"\xed\xbf\xbf", b"\xf0\x80\x80\x80", b"\xf0\x9f\xa6", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"),
    *(b"\xfe", b"\xff", b"\xff\xfe", b"\xc3\x28", b"\xe2\x28\xa1", b"\xe2\x82\x28"),
]


class Strings:
    """Infinite iterator over difficult strings.

    Args:
        tokens: tokens of vocabularies, to repeat, split and join.
        prose: text to sample pieces from.
        seed: equal seeds give equal strings.
    """

    def __init__(self, tokens: Sequence[bytes], prose: bytes, seed: int) -> None:
        self.tokens = tokens
        self.prose = prose
        self.random = Random(seed)
        self.kinds: list[Callable[[], bytes]] = [
            self.noise,
            self.script,
            self.script,
            self.passage,
            self.passage,
            self.damaged,
            self.edges,
            self.edges,
            self.run,
            self.joined_tokens,
            self.joined_tokens,
            self.cut_token,
            self.few_bytes,
        ]

    def __iter__(self) -> Iterator[bytes]:
        while True:
            parts = self.random.choice((1, 1, 1, 2, 3))
            yield b"".join(self.random.choice(self.kinds)() for _ in range(parts))

    def noise(self) -> bytes:
        return self.random.randbytes(self.random.randrange(30))

    def script(self) -> bytes:
        first, last = self.random.choice(SCRIPTS)
        points = self.random.choices(range(first, last + 1), k=self.random.randrange(1, 10))
        return "".join(map(chr, points)).encode()

    def passage(self) -> bytes:
        start = self.random.randrange(len(self.prose))
        return self.prose[start : start + self.random.randrange(60)]

    def damaged(self) -> bytes:
        text = bytearray(self.script() + self.passage()[:10] + self.script())
        place = self.random.randrange(len(text))
        text[place : place + self.random.randrange(3)] = self.random.choice(NOT_UTF8)
        return bytes(text)

    def edges(self) -> bytes:
        return b"".join(self.random.choices(EDGES, k=self.random.randrange(1, 8)))

    def run(self) -> bytes:
        unit = self.random.choice([*EDGES, *NOT_UTF8]) if self.random.random() < 0.6 else self.token()
        times = self.random.choice((2, 3, 5, 8, 16, 17, 33, 50)) // (1 + len(unit) // 8) + 1
        return unit * times + self.random.choice((b"", unit[:-1], b" "))

    def joined_tokens(self) -> bytes:
        return b"".join(self.token() for _ in range(self.random.randrange(1, 7)))

    def cut_token(self) -> bytes:
        token = self.token()
        return token[self.random.randrange(len(token)) :] + token[: self.random.randrange(len(token) + 1)]

    def few_bytes(self) -> bytes:
        return bytes(self.random.choices(self.random.choice((b"ab", b"a ", b" \n", b"\x00\xff", b"1a'")), k=20))

    def token(self) -> bytes:
        return self.random.choice(self.tokens)

    def huge(self, size: int) -> list[bytes]:
        """Return strings of about ``size`` bytes that some or all pre-tokenizations do not split."""
        short = [self.random.choice([token for token in self.tokens if 1 < len(token) < 9]) for _ in range(3)]
        return [
            b"a" * size,
            b"\xff" * size,
            b" " * size,
            "é".encode() * (size // 2),
            *(token * (size // len(token) + 1) for token in short),
            bytes(self.random.choices(b"ab", k=size)),
            bytes(self.random.choices(b"etaoinshrdlu", k=size)),
            self.random.randbytes(size),
            bytes(range(256)) * (size // 256 + 1),
            bytes(byte for byte in self.prose if byte > 32)[:size],
        ]


TEXTS = st.one_of(
    st.text("ab", max_size=200).map(str.encode),
    st.lists(st.sampled_from([0, 97, 98, 255]), max_size=90).map(bytes),
    st.binary(max_size=40),
)
NEW_TOKENS = st.lists(st.text("ab", min_size=2, max_size=7).map(str.encode), max_size=20, unique=True)
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25)


def make(name: str, vocabulary: Vocabulary, **options: object) -> Segmenter:
    method = segmentations[name]
    return method.function(vocabulary, method.options(**options))


def cut(segmenter: Segmenter, *texts: bytes) -> list[list[int]]:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(texts), np.uint8), offsets)
    assert (ids.dtype, bounds.dtype, int(bounds[0]), int(bounds[-1])) == (np.int32, np.int64, 0, len(ids))
    return [ids[start:end].tolist() for start, end in pairwise(bounds.tolist())]


def ids_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {token: index for index, token in enumerate(vocabulary.tokens)}


def by_merges(pairs: list[tuple[int, int]]) -> Vocabulary:
    """Return a vocabulary of merged pairs of earlier tokens, numbered from ``a``; pairs and results may repeat."""
    tokens, merges = list(BYTES), []
    for pair in pairs:
        parts = [97 + part if part < 2 else 256 + (part - 2) % max(len(tokens) - 256, 1) for part in pair]
        left, right = (part if part < len(tokens) else 97 for part in parts)
        token = tokens[left] + tokens[right]
        if len(token) > 40:
            continue
        if token not in tokens:
            tokens.append(token)
        merges.append((left, right, tokens.index(token)))
    return Vocabulary(tuple(tokens), merges=np.array(merges, np.int32).reshape(-1, 3))


OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"\p{L}+(?=\p{N})|[^\s\p{L}]{1,4}|\s\p{Ll}*"},
    "added_tokens": {"tokens": ["the", "thes", "  ", "\u00e9"], "others": "gpt2"},
    "sequence": {"steps": ["gpt2", {"method": "digits", "group": 2}, "scripts"]},
}
EVERY = [pretokenization_of({"method": name, **OPTIONS.get(name, {})}).text for name in schemes]
"""Settings of all pre-tokenizations, one line each."""
GROUPED = {"method": "sequence", "steps": ["gpt2", {"method": "digits", "group": 3}]}


def by(pattern: str) -> dict[str, Any]:
    return {"method": "regex", "pattern": pattern}


def pieces(setting: Any, text: str) -> list[str]:
    written = text.encode()
    bounds = pretokenization_of(setting).boundaries(written).tolist()
    return [written[start:end].decode() for start, end in pairwise(bounds)]


BLANK_TEXTS = [
    " ",
    "  ",
    "\n",
    "\t",
    "\r\n",
    "\x0b",
    "\x1c",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2003",
    "\u2028",
    "\u3000",
]
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
PIECES = [piece.encode() for piece in BLANK_TEXTS + WORDS + NUMBERS + SIGNS] + INVALID
PRETOKENIZATIONS_TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=60).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=150).map(b"".join),
    st.lists(st.sampled_from([b" ", b" ", b"\n", b"'", b"s", b"l", b"1", b"."]), max_size=300).map(b"".join),
)


BLANK_PATTERN = r"\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+END|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*END|"
    rf"\p{{N}}DIGITS| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|{BLANK_PATTERN}"
)
CL100K = (
    rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}DIGITS| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+"
    rf"|{BLANK_PATTERN}"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|\s*[\r\n]+|{BLANK_PATTERN}",
)
WELL_KNOWN = {
    "gpt2": rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{BLANK_PATTERN}",
    "gpt2, as tiktoken spells it now": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++"
    r"|\s++$|\s+(?!\S)|\s",
    "cl100k": CL100K.replace("DIGITS", "{1,3}"),
    "cl100k, as tiktoken spells it now": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "qwen2": CL100K.replace("DIGITS", ""),
    "o200k": CASED.replace("END", f"{CONTRACTIONS}?").replace("DIGITS", "{1,3}"),
    "superbpe 1": CASED.replace("END", "").replace("DIGITS", "{1,3}"),
    "superbpe 2": r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)",
    "tekken": CASED.replace("END", "").replace("DIGITS", ""),
    "nanochat": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+",
    **{f"deepseek_v3, {number}": pattern for number, pattern in enumerate(DEEPSEEK, 1)},
    "deepseek_v3": DEEPSEEK,
    "space": " |[^ ]+",
    "digit": r"\d|[^\d]+",
    "first_space": rf" ?\S+|{BLANK_PATTERN}",
    "first_space_digit": rf"\d| ?[^\s\d]+|{BLANK_PATTERN}",
}

CHARACTERS = (
    " \n\r\t'sStTrevmlLd019aAzZ.,-\"/\\\x00\x7fſK\u0301é一かカ゛・٣²\u3000\u2028\x85\u200b\xa0ǅʰªΩ😀\u0378\u3040"
)
PATTERNS_PIECES = [character.encode() for character in CHARACTERS] + PIECES
ASCII = [code.encode() for code in " \n\r\t\x0b'sStTrevmlLd019aAzZ.,-\"/\x00"]
PROSE = [b" ", b" ", b"a", b"e", b"t", b"S", b"he", b"word", b"'", b".", b"-", b"\n", b'"', b"12"]
PATTERNS_TEXTS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=60).map(str.encode),
    st.lists(st.sampled_from(PATTERNS_PIECES), max_size=80).map(b"".join),
    st.lists(st.sampled_from(PROSE), max_size=700).map(b"".join),
    st.lists(st.sampled_from(PROSE * 5 + PATTERNS_PIECES), max_size=700).map(b"".join),
    st.lists(st.tuples(st.sampled_from(ASCII), st.integers(1, 150)), max_size=12).map(
        lambda runs: b"".join(piece * times for piece, times in runs)
    ),
)
"""Arbitrary bytes, prose long enough for bit masks, and runs."""


WORDS = st.dictionaries(
    st.text("ab", min_size=1, max_size=6).map(str.encode), st.integers(1, 9), min_size=1, max_size=6
)
SHARED = {"abc": 1, "abd": 1, "abe": 1, "bc": 1, "bd": 1, "be": 1}
THREE = {"abab": 3, "ab": 2, "ba": 4, "aab": 2}


def counts_of(words: dict[bytes, int]) -> PretokenCounts:
    return PretokenCounts.from_pairs(words.items(), "gpt2")


def substrings(words: dict[bytes, int]) -> list[bytes]:
    return sorted({word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})


def encoded(words: dict[str, int]) -> dict[bytes, int]:
    return {word.encode(): count for word, count in words.items()}


def text_counts(words: int, seed: int) -> dict[bytes, int]:
    """Return counts of random words of few letters, some of them frequent."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, int] = {}
    for rank in range(words):
        word = bytes(rng.choice(list(b"abcde"), size=rng.integers(1, 9)).tolist())
        found[word] = found.get(word, 0) + 1 + 400 // (rank + 1)
    return found
