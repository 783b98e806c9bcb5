"""Random patterns that we take for those of another library: the pieces are those of its engine.

Patterns come from a grammar with constructs that engines read differently, and from mutations of published ones. The
number of patterns for each library is ``TOKBENCH_FUZZ_PATTERNS``, 150 by default; ``make nightly`` sets many more.
"""

import os
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import tiktoken
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from tests.support.texts import WELL_KNOWN
from tokbench.adapters.export_hugging_face import differing
from tokbench.adapters.forms.parsed import NativeTokenizer
from tokbench.adapters.forms.patterns import native_setting
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns.coverage import access_texts, left_out
from tokbench.pretokenization.patterns.dialects import FANCY_REGEX, ONIGURUMA, Dialect, NotNativeError, translate
from tokbench.vocabulary import BYTES, Vocabulary

PATTERNS = int(os.environ.get("TOKBENCH_FUZZ_PATTERNS", "150"))
TEXTS = 12
"""Random texts for each pattern, in addition to those made from it."""
CHARACTERS = (
    " \n\r\t\x0b\x0c\x00\x1c\x7f\x85\xa0\u2028\u2029\u200b\u200d\u3000aAbBcCdDeEfFhHiIjJkKlLmMnNsSqStTvVxXyYzZ019_'\"-."
    ",!?/"
    "\\#$^()[]{}|&~<>@ßẞſıİﬀﬁﬂﬃﬄﬅﬆŉǰẖẗẘẙẚΐΰևﬓĲǅǆKÅéÉe\u0301\u0307\u0308\u030a\u030c\u0331\u02be\u02bcµμςσΣΩωᾳЖж"
    "中かカ٣²½Ⅷ一😀\U0001f468\u0378\ufeff\ufffd𝐀𐐀𐐨ꮿᏯ\u1c80"
)
FOLDED = "ßẞſıİﬀﬁﬂﬃﬄﬅﬆŉǰẖẗẚKÅé"
WORDS = re.compile(r"(?<!\\)[^\W\d_]+")
WORD_PARTS = [
    *"ssttffillkKx'i",
    "ss",
    "st",
    "fi",
    "[sk]",
    "[a-f]",
    "[tT]",
    "s+",
    "f?",
    "s{2}",
    "(?:s)",
    "(?:s|x)",
    "1",
    r"\x73",
]
OF_PAIR = {"ss": "ßẞ", "st": "ﬆﬅ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}
PAIRS = re.compile("|".join(OF_PAIR), re.IGNORECASE)
LITERALS = [*"aabscfitlkSK'xy 1-.é中ß#<>\n", *("ss", "st", "ffi", "fi", "'s", "'LL", "K", "ſ", "i", "ll", "sS")]
COMMON = [
    *(r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\p{L}", r"\p{N}", r"\P{L}", r"\p{^N}", r"\pL", r"\p{Lu}", r"\p{Ll}"),
    *(r"\p{M}", r"\p{P}", r"\p{S}", r"\p{Han}", r"\p{sc=Greek}", ".", r"\n", r"\r", r"\t", r"\x41", r"\u00e9", r"\'"),
    *("[ab]", "[^a]", "[a-f]", r"[\s\p{L}]", r"[^\s\p{L}\p{N}]", r"[^\r\n\p{L}\p{N}]", "[a-]", "[-s]", r"[\]x]"),
    *(
        "[À-ÿ]",
        "[一-龥]",
        r"[\r\n]",
        r"[^\S\n]",
        r"[\d_]",
        "[.$^|]",
        r"[\x41-\x5a]",
        "[ß-ü]",
        r"\-",
        r"\.",
        r"\#",
        r"\ ",
    ),
]
RARE = [
    *(
        r"\b",
        r"\B",
        "^",
        "$",
        r"\A",
        r"\z",
        r"\Z",
        r"\G",
        r"\K",
        r"\h",
        r"\H",
        r"\R",
        r"\X",
        r"\v",
        r"\V",
        r"\N",
        r"\O",
    ),
    *(r"\xC3\xA9", r"\xe9", r"[\x80-\xff]", r"\x{e9}", r"\101", r"\0", r"\07", r"\cA", r"\e", r"\a", r"\f", r"\1"),
    *("[[:alpha:]]", "[[:space:]x]", "[[:^alpha:]]", "[a[bc]]", r"[\w&&[^\d]]", "[a-z&&b]", "[]a]", "[^]a]", r"[\h]"),
    *(
        r"\U0001F600",
        r"\<",
        r"\>",
        r"\/",
        r"\&",
        r"\~",
        r"\%",
        r"\`",
        r"\"",
        r"[\b]",
        r"[a-\d]",
        r"[\d-a]",
        "[a--b]",
        "{",
    ),
    *("x{", "}", "]", r"\p{Alphabetic}", r"\p{Greek}", r"\p{Letter}", r"\p{IsL}", r"\p{Any}", r"\p{LC}", r"\p{Lu}{2}"),
    *(
        "(?#remark)",
        "(?i)",
        "(?-i)",
        "(?m)",
        "(?s)",
        "(?x)",
        r"\Qa.\E",
        r"\y",
        r"\p{lu}",
        r"[\S\s&&\w]",
        "[a||b]",
        "[a~~b]",
    ),
]
GROUPS = ["(?:{})"] * 6 + ["({})", "(?i:{})", "(?i:{})", "(?i:{})"]
RARE_GROUPS = [
    *("(?m:{})", "(?s:{})", "(?x:{})", "(?-i:{})", "(?>{})", "(?<n>{})", "(?P<n>{})", "(?im:{})", "(?i-m:{})"),
    *("(?<={})", "(?<!{})", "(?={})", "(?!{})", "(?=(?:{}))", "(?~{})", "(?|{})"),
]
AHEAD = [r"(?!\S)", "(?=a)", "(?![bs])", "$", r"(?=\s|$)", r"(?=\n)", r"(?!\p{L}|$)", r"(?=$)", "(?i:(?=s))", r"(?!$)"]
COUNTS = [*("", "", "", "", "", "?", "+", "+", "*", "{2}", "{1,3}", "{2,}", "{0,2}", "{1}", "??", "+?", "*?", "{1,2}?")]
RARE_COUNTS = [*("?+", "++", "*+", "{1,2}+", "{2}+", "{2}?", "{,2}", "{2,1}", "{0}", "**", "+*", "{2,}+", "{2,2}?")]
REST = ["", r"|[\s\S]", r"|.|\n", r"|\s|\S", r"|\s+(?!\S)|\s+|[^\s]+", r"|[^a]|a+"]
REAL = [pattern for pattern in WELL_KNOWN.values() if isinstance(pattern, str)]
Pieces = Callable[[str, list[str]], list[list[str]]]


def drawn(draw: Random, depth: int = 2) -> str:
    """A pattern of the grammar; one part of fifteen is of those that engines read in different ways."""
    options = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        parts = []
        for _ in range(draw.choice([1, 1, 2, 3])):
            rare = draw.random() < 1 / 15
            kind = draw.random()
            if rare and kind < 0.6:
                part = draw.choice(RARE)
            elif kind < 0.08:
                part = draw.choice(AHEAD)
            elif kind < 0.3 and depth:
                group = draw.choice(RARE_GROUPS if rare else GROUPS)
                inner = caseless(draw) if group == "(?i:{})" and draw.random() < 0.8 else drawn(draw, depth - 1)
                part = group.replace("{}", inner)
            elif kind < 0.6:
                part = draw.choice(LITERALS)
            else:
                part = draw.choice(COMMON)
            possessive = draw.random() < 0.1
            parts.append(part + draw.choice(RARE_COUNTS if rare or possessive else COUNTS))
        options.append("".join(parts))
    return "|".join(options)


def caseless(draw: Random) -> str:
    """A choice of words, of which some have letters that one character may stand for."""
    return "|".join("".join(draw.choices(WORD_PARTS, k=draw.randrange(1, 4))) for _ in range(draw.choice([1, 1, 2, 3])))


def mutated(draw: Random) -> str:
    """A published pattern with one change to three."""
    found = draw.choice(REAL)
    for _ in range(draw.randrange(1, 4)):
        first, last = sorted(draw.randrange(len(found) + 1) for _ in range(2))
        last = min(last, first + 6)
        kind = draw.randrange(6)
        part = draw.choice([*LITERALS, *COMMON, *AHEAD, *COUNTS, *RARE_COUNTS, draw.choice(RARE)])
        if kind == 0:
            found = found[:first] + found[last:]
        elif kind <= 2:
            found = found[:first] + part + found[first:]
        elif kind == 3:
            options = found.split("|")
            draw.shuffle(options)
            found = "|".join(options)
        elif kind == 4:
            found = f"(?i:{found})" if draw.random() < 0.5 else f"{part}|{found}"
        else:
            found = found[:first] + part + found[last:]
    return found


def texts(draw: Random, pattern: str) -> Iterator[str]:
    """Yield texts of random characters, or of literals of the pattern and of characters that fold to several."""
    literals = [form for part in WORDS.findall(pattern) for form in (part, part.upper(), *part)]
    for number in range(TEXTS):
        alphabet = draw.sample(CHARACTERS, draw.choice([2, 4, 12]))
        if number % 2:
            alphabet = [*literals, *draw.sample(FOLDED, 4), *alphabet[:2], "\n", "\n"]
        else:
            alphabet += list("ss \n" if draw.random() < 0.5 else "aS'1")
        yield "".join(draw.choices(alphabet, k=draw.randrange(1, 16)))


def varied(draw: Random, made: list[str]) -> Iterator[str]:
    """Yield texts made from a pattern, also at the ends of lines, and with one character for two letters."""
    for text in draw.sample(made, min(8, len(made))):
        yield text
        yield f"{text}\n{draw.choice(made)}"
        yield f"{text}\n"
        yield PAIRS.sub(lambda found: draw.choice(OF_PAIR[found[0].casefold()]), text + draw.choice(made) + text)


def by_tokenizers(pattern: str, given: list[str]) -> list[list[str]]:
    split = Split(Regex(pattern), "isolated")
    return [[piece for piece, _ in split.pre_tokenize_str(text)] for text in given]


def by_tiktoken(pattern: str, given: list[str]) -> list[list[str]]:
    """Every part of a text is a token, and a piece that is a token is taken as it is."""
    parts = {text[i:j].encode() for text in given for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    ranks = {token: rank for rank, token in enumerate([*BYTES, *sorted(parts - set(BYTES))])}
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return [[encoding.decode([one]) for one in encoding.encode_ordinary(text)] for text in given]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of characters are compared on those of the texts: this is repeated for every pattern."""
    codes = np.array(sorted(map(ord, set(CHARACTERS))))
    monkeypatch.setattr("tokbench.adapters.export_hugging_face._codes", lambda: codes)


@pytest.mark.parametrize(("dialect", "pieces"), [(ONIGURUMA, by_tokenizers), (FANCY_REGEX, by_tiktoken)])
@pytest.mark.usefixtures("few")
def test_random_patterns_cut_as_the_library_does(dialect: Dialect, pieces: Pieces) -> None:
    draw = Random(PATTERNS)
    compared = 0
    for _ in range(PATTERNS):
        pattern = mutated(draw) if draw.random() < 0.3 else drawn(draw) + draw.choice(REST)
        given = list(texts(draw, pattern))
        try:
            translation = translate(pattern, dialect)
            setting = native_setting([translation])
            if dialect.library == FANCY_REGEX.library and left_out(translation.pattern) is not None:
                continue
            theirs = pieces(pattern, [])
            others = differing(NativeTokenizer(Vocabulary(BYTES), setting, "ranked", translation.sets), dialect.library)
        except NotNativeError:
            continue
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # The library reads no such pattern.
            continue
        made = access_texts([translation.pattern], others.codes)
        known = set(CHARACTERS) - set(map(chr, others.codes))
        given += varied(draw, list(made))
        given = [kept for text in given if (kept := "".join(one for one in text if one in known))]
        try:
            theirs = pieces(pattern, given)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # It gives up after too many steps.
            continue
        scheme = pretokenization_of(setting)
        for text, expected in zip(given, theirs, strict=True):
            data = text.encode()
            found = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
            assert found == expected, (pattern, text)
        compared += 1
    assert compared > PATTERNS // 20
