"""Well-known pre-tokenizations, as published: against the ``regex`` package, and against the ``tokenizers`` library."""

import gzip
import itertools
import json
import random
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.external_data import DATA, skip_without
from tests.support.pretokenizations import PIECES, REAL_TEXTS, TEXTS
from tokbench.adapters.forms.patterns import setting_of
from tokbench.adapters.splits import cut_otherwise, splits_of
from tokbench.patterns.same import cut_alike
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.well_known import CL100K, DEEPSEEK_V3, O200K, TEKKEN
from tokbench.reference import scan as twin
from tokbench.splitting import cut_by_characters, search

NAMES = ["cl100k", "deepseek_v3", "llama3", "nanochat", "o200k", "qwen2", "superbpe_1", "superbpe_2", "tekken"]


def pieces(name: str, text: str) -> list[str]:
    written = text.encode()
    bounds = pretokenization_of(name).boundaries(written).tolist()
    return [written[start:end].decode() for start, end in pairwise(bounds)]


VECTOR = "I'LL pay 12345 now!!\n\n  ok"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt2", "I|'|LL| pay| 12345| now|!!|\n\n | ok"),
        ("cl100k", "I|'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("llama3", "I|'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("qwen2", "I|'LL| pay| |1|2|3|4|5| now|!!\n\n| | ok"),
        ("o200k", "I'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("nanochat", "I|'LL| pay| |12|34|5| now|!!\n\n| | ok"),
        ("tekken", "I|'LL| pay| |1|2|3|4|5| now|!!\n\n| | ok"),
        ("superbpe_1", "I|'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("superbpe_2", "I'LL pay |123|45| now|!!\n\n| | ok"),
    ],
)
def test_vector(name: str, expected: str) -> None:
    assert pieces(name, VECTOR) == expected.split("|")


RAW = tuple(one.replace(r"\r", "\r").replace(r"\n", "\n") for one in DEEPSEEK_V3)
PRESENT_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
PRESENT_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


@pytest.mark.parametrize(
    ("patterns", "name"),
    [
        (RAW, "deepseek_v3"),
        ((RAW[1].replace("\\u3040-\\u309f", "\u3040-\u309f"), RAW[0], RAW[2]), "deepseek_v3"),
        (RAW[1:], None),
        ((PRESENT_GPT2,), "gpt2"),
        ((PRESENT_CL100K,), None),
        ((CL100K.replace(r"\r\n", r"\n\r").replace(r"\s*[", "(?:\\s)*["),), "cl100k"),
        ((CL100K.replace("(?i:'s|'t", "(?:'[sS]|'[tT]|(?i:").replace("'d)", "'d))"),), None),
        ((r"(?:.|\n)+",), "none"),
        ((TEKKEN.replace(r"\p{M}", "\\p{Mn}\\p{Mc}\\p{Me}"),), "tekken"),
    ],
)
def test_patterns_are_named_by_what_they_do(patterns: tuple[str, ...], name: str | None) -> None:
    """Not by how they are written; tiktoken's present cl100k cuts some ends of texts otherwise than the first one."""
    setting = setting_of(patterns)
    assert setting == name if name else isinstance(setting, dict)


def test_patterns_are_alike_where_no_text_tells_them_apart() -> None:
    patterns = ("a+|[^a]", "a++|[^a]", "a{1,2}|[^a]", "a*a|[^a]", "a+$|a+|[^a]", "(?s:.)", "a|b|[^ab]", "[^a]|aa?|a")
    patterns += (r"a+\Z|a|[^a]", "a+$|a|[^a]", r"a+(?!\S)|a+|[^a]", r"a+(?!\S)|a|[^a]", r"[^\s\S]|(?:a|aa)|[^a]")
    texts = ["".join(letters) for size in range(1, 6) for letters in itertools.product("ab\n", repeat=size)]
    cuts = {one: [regex.findall(one, text) for text in texts] for one in patterns}
    for one, other in itertools.product(patterns, repeat=2):
        if "(?s" not in one + other:  # Which is not of the language, and so like nothing that is known.
            assert cut_alike([one], [other]) == (cuts[one] == cuts[other]), (one, other)
    assert not cut_alike(["(?s:.)"], ["(?s:.)"])


@given(TEXTS)
@settings(max_examples=200)
def test_any_bytes(text: bytes) -> None:
    for name in NAMES:
        scheme = pretokenization_of(name)
        assert scheme.boundaries(text).tolist() == twin.boundaries(scheme.splits, text), name


def test_they_are_scanned_as_they_would_be_searched() -> None:
    """Without a call into Python; the search in their place gives the same."""

    @given(TEXTS)
    @settings(max_examples=100)
    def check(text: bytes) -> None:
        for scheme, searched in both:
            assert scheme.boundaries(text).tolist() == searched.boundaries(text).tolist(), scheme.text

    both = []
    for name in [*NAMES, "metaspace"]:
        scheme = pretokenization_of(name)
        assert scheme.scanner is not None
        assert scheme.splits
        both.append((scheme, cut_by_characters(*map(search, scheme.splits), splits=scheme.splits)))
    check()


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point(name: str) -> None:
    """In order, and many at random; surrogates are encoded too: in UTF-8 they are three invalid bytes each."""
    letters = list(map(chr, range(0x110000)))
    scheme = pretokenization_of(name)
    for text in ("".join(letters), "".join(random.Random(name).sample(letters, 100_000))):
        written = text.encode("utf-8", "surrogatepass")
        assert scheme.boundaries(written).tolist() == twin.boundaries(scheme.splits, written)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", REAL_TEXTS)
def test_real_text(name: str, source: str) -> None:
    path = DATA / f"{source}.jsonl.gz"
    skip_without(path)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        text = "".join(line[:4000] for line, _ in zip(lines, range(40), strict=False)).encode()
    scheme = pretokenization_of(name)
    assert scheme.boundaries(text).tolist() == twin.boundaries(scheme.splits, text)


# A character that Unicode 17 or a later edition adds is a letter to one library and none to another.
LETTERS = st.characters(exclude_categories=["Cs", "Cn"])
TEXT = st.one_of(
    st.text(LETTERS, max_size=60),
    st.lists(st.sampled_from([piece.decode("utf-8", "ignore") for piece in PIECES]), max_size=80).map("".join),
)


@pytest.mark.parametrize("name", ["gpt2", "metaspace", "scripts", "digits", *NAMES])
def test_the_tokenizers_library_cuts_alike(name: str) -> None:
    pytest.importorskip("tokenizers")
    scheme = pretokenization_of(name)
    splits = splits_of(scheme)
    assert not isinstance(splits, str)

    @settings(max_examples=150)
    @given(st.lists(TEXT, min_size=1, max_size=4))
    def check(texts: list[str]) -> None:
        from tokenizers.pre_tokenizers import Sequence

        theirs = Sequence(splits)
        for text in texts:
            assert [piece for piece, _ in theirs.pre_tokenize_str(text)] == pieces(name, text)

    check()
    assert cut_otherwise(scheme, splits, None) is None


def test_patterns_of_the_makers_files() -> None:
    """Of those whose files say it; DeepSeek's writes out the code points and the line feeds that ours spells."""
    folder = DATA / "existing"
    skip_without(folder)
    with gzip.open(folder / "mistral_tekken_240911.json.gz", "rt") as file:
        assert json.load(file)["config"]["pattern"] == TEKKEN
    with gzip.open(folder / "deepseek_v3_tokenizer.json.gz", "rt") as file:
        *splits, level = json.load(file)["pre_tokenizer"]["pretokenizers"]
    assert level["use_regex"] is False
    assert all(split["behavior"] == "Isolated" and not split["invert"] for split in splits)
    spelt = [split["pattern"]["Regex"].replace("\r", r"\r").replace("\n", r"\n") for split in splits]
    for code in (0x3040, 0x309F, 0x30A0, 0x30FF):
        spelt[1] = spelt[1].replace(chr(code), rf"\u{code:04x}")
    assert spelt == list(DEEPSEEK_V3)
    named = json.loads((folder / "tiktoken_patterns.json").read_text())
    assert named["gpt2"]["pattern"] == pretokenization_of("gpt2").method.pattern
    cases = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)"
    folded = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    assert named["cl100k_base"]["pattern"].replace(cases, folded) == CL100K
    assert named["o200k_base"]["pattern"].replace(cases, folded) == O200K


@pytest.mark.parametrize(
    ("text", "steps", "together"),
    [
        ("a中", "a|中", "a中"),
        ("  1", "  |1", " | |1"),
        ("   中é", "   |中|é", "  | 中é"),
        ("é中-", "é|中|-", "é中|-"),
        ("x = 12345;\nabc東京タワー", "x| =| |123|45|;\n|abc|東京タワー", "x| =| |123|45|;\n|abc東京タワー"),
    ],
)
def test_deepseek_cuts_step_by_step(text: str, steps: str, together: str) -> None:
    """Each pattern sees a piece and nothing beyond; one pattern with alternatives would cut otherwise."""
    assert pieces("deepseek_v3", text) == steps.split("|")
    assert regex.findall("|".join(DEEPSEEK_V3), text) == together.split("|")
