"""Texts that test a tokenizer: rare characters, and cases that patterns distinguish.

Characters added after Unicode 14 are excluded, and U+0295, whose category has changed since: the regular expressions of
libraries differ in their version of Unicode.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product

BLOCK = 64
"""Number of characters or names tested in one text."""
LAST = 0x1FFFF
"""Last code point that is tested systematically; beyond it are rare ideographs (sampled), tags and private
characters."""
CHANGED = frozenset({0x295})
BLANKS = ("", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", " \n ", "\n  \n", "\u0085", "\x0b")
WORDS = (
    "a",
    "Ab",
    "aB",
    "ABc",
    "1",
    "12",
    "123",
    "1234",
    "'s",
    "'LL",
    "\u2019t",
    "!",
    "?!",
    "/",
    "\u4e2d",
    "\u00e9",
    "e\u0301",
)
LONG = ("a", "A", " ", "\n", "1", "!", "ab", "\u4e2d", "\u00e9", "\r\n", " a", "'s", "\U0001f642", "-_", "\u0301")
RUN = 700
TEXTS = (
    "",
    "I'LL pay 12345 now!!\n\n  ok",
    "Don't you'Re WE'VE it'S he'd I'M o'clock \u017f'\u017f 'ſ",
    "def f(x):\n    return x+1  # \t done\r\n\r\n\r\n",
    "<|endoftext|><s></s>[INST] a <|im_start|> b <unk> c<0x0A>",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd \u2764\ufe0f",
    "https://example.org/a?b=c&d=%20#e  $3.50 10^-7 5\u20ac \u00bd\u00b2",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea \u0e44\u0e17\u0e22 \ud55c\uad6d\uc5b4",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u65e5\u672c\u8a9e\u306e \u4e2d\u6587\uff0c\u6587\u5b57\u3002",
    "\x00\x01\x7f\u0080\u200b\u200e\ufeff\ufffd\u2060 \ufffe",
)


@cache
def probes() -> tuple[bytes, ...]:
    """Return all texts in UTF-8; cached.

    They are fixed texts, pairs of words and whitespace, runs, lines, and every character in three contexts.
    """
    return tuple(text.encode() for text in _texts())


def _texts() -> Iterator[str]:
    yield from TEXTS
    for blank in BLANKS:
        yield "".join(f"{left}{blank}{right}{blank}" for left, right in product(WORDS, repeat=2))
    for blank in BLANKS:
        yield f"a{blank}"
        yield f"{blank}a"
    for text in LONG:
        yield text * RUN
        yield f"x{text * 40} {text * 41}y"
    yield from lines()
    known = [chr(code) for code in range(LAST + 1) if _known(code)]
    known += map(chr, range(0x20000, 0x31300, 997))
    for start in range(0, len(known), BLOCK):
        yield "".join(f"{text}a {text}{text}1" for text in known[start : start + BLOCK])


def texts_with(names: Iterable[str]) -> Iterator[bytes]:
    """Yield texts in which every name occurs: within a word, between spaces, twice in a row and in a line."""
    contexts = (f"a{name}b {name} {name}{name}\n{name}1" for name in names)
    while group := "".join(islice(contexts, BLOCK)):
        yield group.encode("utf-8", "surrogatepass")


def lines() -> Iterator[str]:
    """Yield every character of Latin-1 two to five times, with a line feed before it, after it and on both sides.

    In some engines an anchor is the end of a line, in others that of the text; limited repetitions differ, too.
    """
    for start in range(0, 256, BLOCK):
        known = [chr(code) for code in range(start, start + BLOCK) if _known(code)]
        for count in range(2, 6):
            yield "\n".join(character * count for character in known)
            yield "".join(f" {character * count}\n .\n{character * count} " for character in known)


def _known(code: int) -> bool:
    return code not in CHANGED and unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
