"""Short texts on which tokenizers often fail, by kind; :data:`PROBES` has the nine kinds of TokEval."""

import unicodedata
from functools import cache
from itertools import product
from random import Random

_COMPOSED = ("é", "ñ", "Å", "ü", "ç", "가", "ệ")
PROBES: dict[str, tuple[str, ...]] = {
    "plain ASCII": (
        "hello world",
        "The quick brown fox jumps over the lazy dog.",
        "".join(map(chr, range(0x21, 0x7F))),
        "def f(x): return x[0] + {'a': 1}['a']  # 100%",
    ),
    "white space": (
        " ", "  ", "   lead", "trail   ", "a  b", "a\tb", "\t\ta", "a\nb", "a\n\n  b", "a\r\nb", "a\u00a0b", "a\u3000b",
    ),
    "digits": (
        "0", "7", "42", "100", "1234", "12345", "123456", "1234567", "1,234,567.89", "3.14159", "2024-01-31", "0x1F",
        "١٢٣", "१२३४",
    ),
    "marks": (
        "q\u0301", "a\u0308o\u0308", "नमस्ते", "น้ำ", "שָׁלוֹם", "مُحَمَّد", "Vie\u0323\u0302t", "Z\u0334\u0301a\u0334",
    ),
    "normal forms": tuple(
        unicodedata.normalize(form, character) for character in _COMPOSED for form in ("NFC", "NFD")
    ),
    "case": ("ABC", "abc", "aBcD", "İstanbul", "STRASSE Straße", "ΣΑΣ σας"),
    "controls": ("\x00", "a\x07b", "\x1b[31m", "\x7f", "a\u0085b", "\u200b\ufeff"),
    "emoji": ("😀", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "❤️"),
    "scripts": (
        "Ελληνικά", "Русский язык", "العربية", "עברית", "हिन्दी", "中文文本", "日本語テキスト", "한국어 문장", "ภาษาไทย",
    ),
}  # fmt: skip
"""Probes by kind."""
EVERY_PROBE = tuple(text.encode() for texts in PROBES.values() for text in texts)

RUNS = ("a", " ", "\n", "\t", "0", "-", "ab", "the ", "A", "é", "\u0301", "漢", "😀", "\u200d", "\r\n", " \n")
"""Units repeated in long runs."""
RUN_LENGTHS = (100, 1000, 10_000, 100_000)
"""Numbers of repetitions in a run."""
SPECIAL = (
    "<|endoftext|>", "<|padding|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<|fim_prefix|>",
    "<s>", "</s>", "<unk>", "<pad>", "<mask>", "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]", "[INST]", "<0x41>", "Ġ",
    "##a", "</w>", "\u203f",
)  # fmt: skip
"""Strings that some tokenizers treat as special."""


@cache
def every_byte() -> tuple[bytes, ...]:
    """Return U+0000 to U+00FF, one text each."""
    return tuple(chr(code).encode() for code in range(256))


@cache
def blocks() -> tuple[bytes, ...]:
    """Return every Unicode code point except surrogates, 256 per text, including unassigned ones."""
    starts = (first for first in range(0, 0x110000, 256) if not 0xD800 <= first < 0xE000)
    return tuple("".join(map(chr, range(first, first + 256))).encode() for first in starts)


@cache
def emoji_sequences() -> tuple[bytes, ...]:
    """Return emoji sequences: skin tones, families, professions, hair, flags, keycaps and presentation selectors."""
    tones = [chr(code) for code in range(0x1F3FB, 0x1F400)]
    people, parts = "👋👍👩👨🧑💪🤝", "⚕⚖✈🌾🍳🎓🎤🎨🏫🏭💻💼🔧🔬🚀🚒🦰🦱🦳🦲"
    letters = [chr(code) for code in range(0x1F1E6, 0x1F200)]
    england = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
    made = [person + tone for person, tone in product(people, tones)]
    made += [f"{person}{tone}\u200d{part}\ufe0f" for person, tone, part in product("👩🧑", ["", *tones], parts)]
    made += [f"{a}\u200d{b}\u200d{c}\u200d{d}" for a, b, c, d in product("👩👨", "👩👨", "👧👦", "👧👦")]
    made += [a + b for a, b in product(letters, letters)]
    made += [f"{key}\ufe0f\u20e3" for key in "0123456789#*"]
    made += [base + selector for base, selector in product("☺☎✉❤♥⚠▶", "\ufe0e\ufe0f")]
    made += [england, "🏳️‍🌈", "👩‍❤️‍💋‍👨", "🧜🏿‍♀️", "\u200d", "\ufe0f", "😀\u200d", "\u200d😀"]
    return tuple(text.encode() for text in made)


@cache
def white_space() -> tuple[bytes, ...]:
    """Return every white-space character: single, doubled and next to a letter; line ends and blanks in all pairs."""
    blanks = "\t\n\x0b\x0c\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    blanks += "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
    made = [
        form for blank in blanks for form in (blank, blank * 2, f"{blank}a", f"a{blank}", f"a{blank}b", f" {blank}a")
    ]
    made += [f"a{blank}{other}b" for blank, other in product("\t\n\r \xa0", repeat=2)]
    return tuple(text.encode() for text in (*made, *PROBES["white space"]))


@cache
def controls() -> tuple[bytes, ...]:
    """Return every control and format character, single and in a word."""
    codes = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F)]
    codes += [*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFE), 0xFFFE, 0xFFFF, *range(0xE0001, 0xE0080)]
    made = [form for code in codes for form in (chr(code), f"a{chr(code)}b")]
    return tuple(text.encode() for text in (*made, *PROBES["controls"]))


@cache
def invalid_utf8() -> tuple[bytes, ...]:
    """Return byte strings that are mostly invalid UTF-8.

    Single bytes, all pairs, truncated characters, overlong encodings, surrogates, code points beyond Unicode, and
    random bytes.
    """
    whole = [character.encode() for character in "é漢😀"]
    cut = [character[:size] for character in whole for size in range(1, len(character))]
    odd = [b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf"]
    odd += [b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"]
    odd += [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb", b"\x80" * 5, b"\xff" * 5, b"\xc3 \xa9", b"\xe6\x9d a"]
    single = [bytes([byte]) for byte in range(256)]
    pairs = [b"".join(bytes([first, second]) for second in range(256)) for first in range(256)]
    made = [form for part in cut + odd for form in (part, b"a" + part, part + b"a", b" " + part + b" ")]
    draws = Random(0)
    return (*single, *made, *pairs, *(draws.randbytes(size) for size in (3, 7, 20, 100, 1000) for _ in range(20)))


@cache
def numbers() -> tuple[bytes, ...]:
    """Return the numbers from 0 to 9999."""
    return tuple(str(number).encode() for number in range(10_000))
