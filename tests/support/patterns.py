"""Published pre-tokenization patterns, and texts on which they may differ."""

from hypothesis import strategies as st

from tests.support.pretokenizations import PIECES as PLAIN

BLANKS = r"\s+(?!\S)|\s+"
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+END|"
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*END|"
    rf"\p{{N}}DIGITS| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|\s*[\r\n]+|{BLANKS}"
)
CL100K = (
    rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}DIGITS| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{BLANKS}"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|\s*[\r\n]+|{BLANKS}",
)
WELL_KNOWN = {
    "gpt2": rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{BLANKS}",
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
    "first_space": rf" ?\S+|{BLANKS}",
    "first_space_digit": rf"\d| ?[^\s\d]+|{BLANKS}",
}

CHARACTERS = (
    " \n\r\t'sStTrevmlLd019aAzZ.,-\"/\\\x00\x7fſK\u0301é一かカ゛・٣²\u3000\u2028\x85\u200b\xa0ǅʰªΩ😀\u0378\u3040"
)
PIECES = [character.encode() for character in CHARACTERS] + PLAIN
ASCII = [code.encode() for code in " \n\r\t\x0b'sStTrevmlLd019aAzZ.,-\"/\x00"]
PROSE = [b" ", b" ", b"a", b"e", b"t", b"S", b"he", b"word", b"'", b".", b"-", b"\n", b'"', b"12"]
TEXTS = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=60).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=80).map(b"".join),
    st.lists(st.sampled_from(PROSE), max_size=700).map(b"".join),
    st.lists(st.sampled_from(PROSE * 5 + PIECES), max_size=700).map(b"".join),
    st.lists(st.tuples(st.sampled_from(ASCII), st.integers(1, 150)), max_size=12).map(
        lambda runs: b"".join(piece * times for piece, times in runs)
    ),
)
"""Bytes of any kind, prose long enough for masks, and runs."""
