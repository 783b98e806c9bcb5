"""Well-known pre-tokenizations, as published: against the ``regex`` package, and against the ``tokenizers`` library.

Tokenizers whose pre-tokenization has options: their folders, their exports, and the commands all the way.
"""

import gzip
import itertools
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ODD, TOPICS, Tokbench
from tests.support.external_tokenizers import DATA, skip_without
from tests.support.imports import each_after
from tests.support.texts import GROUPED, PIECES, PRETOKENIZATIONS_TEXTS, REAL_TEXTS, by
from tokbench.adapters.export_hugging_face import export, split_obstacle, splits_of, unequal_split
from tokbench.adapters.forms.patterns import PUBLISHED, setting_of
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns.cut import cut_by_functions, regex_cut
from tokbench.pretokenization.well_known import CL100K, DEEPSEEK_V3, O200K, TEKKEN
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as twin
from tokbench.tokenizer import Tokenizer

NAMES = [
    *("cl100k", "deepseek_v3", "kimi_k2", "llama3", "nanochat", "o200k", "qwen2", "superbpe_1", "superbpe_2"),
    *("qwen3_5", "tekken"),
]


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
        ("qwen3_5", "I|'LL| pay| |1|2|3|4|5| now|!!\n\n| | ok"),
        ("o200k", "I'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("kimi_k2", "I'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("nanochat", "I|'LL| pay| |12|34|5| now|!!\n\n| | ok"),
        ("tekken", "I|'LL| pay| |1|2|3|4|5| now|!!\n\n| | ok"),
        ("superbpe_1", "I|'LL| pay| |123|45| now|!!\n\n| | ok"),
        ("superbpe_2", "I'LL pay |123|45| now|!!\n\n| | ok"),
    ],
)
def test_vector(name: str, expected: str) -> None:
    assert pieces(name, VECTOR) == expected.split("|")


RAW = tuple(one.replace(r"\r", "\r").replace(r"\n", "\n") for one in DEEPSEEK_V3)
RAW_KANA = (RAW[0], RAW[1].replace(r"\u3040-\u309f\u30a0-\u30ff", "\u3040-\u309f\u30a0-\u30ff"), RAW[2])
PRESENT_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)


@pytest.mark.parametrize(
    ("patterns", "name"),
    [
        (RAW, "deepseek_v3"),
        (RAW_KANA, "deepseek_v3"),
        ((CL100K,), "cl100k"),
        ((CL100K.replace(r"\r\n", "\r\n"),), "cl100k"),
        ((r"[\s\S]+",), "none"),
        (RAW[1:], None),
        ((PRESENT_CL100K,), None),
        ((CL100K.replace("(?i:'s|'t", "(?:'[sS]|'[tT]|(?i:").replace("'d)", "'d))"),), None),
        ((CL100K.replace(r"\r\n", r"\n\r"),), None),
    ],
)
def test_published_patterns_have_names(patterns: tuple[str, ...], name: str | None) -> None:
    """Any other spelling is a pattern, even if it finds the same matches."""
    setting = setting_of(patterns)
    assert setting == name if name else isinstance(setting, dict)


@pytest.mark.parametrize(("patterns", "name"), PUBLISHED.items())
def test_other_spellings_cut_as_the_scheme_does(patterns: tuple[str, ...], name: str) -> None:
    assert setting_of(patterns) == name
    scheme = pretokenization_of(name)

    def check(text: bytes) -> None:
        assert scheme.boundaries(text).tolist() == twin.boundaries(patterns, text)

    for size in range(1, 5):
        for parts in itertools.product((b"a", b"'s", b"1", b".", b" ", b"\n"), repeat=size):
            check(b"".join(parts))
    settings(max_examples=200)(given(PRETOKENIZATIONS_TEXTS)(check))()


@given(PRETOKENIZATIONS_TEXTS)
@settings(max_examples=200)
def test_any_bytes(text: bytes) -> None:
    for name in NAMES:
        scheme = pretokenization_of(name)
        assert scheme.boundaries(text).tolist() == twin.boundaries(scheme.splits, text), name


def test_they_are_scanned_as_they_would_be_searched() -> None:
    """Without a call into Python; the search in their place gives the same."""

    @given(PRETOKENIZATIONS_TEXTS)
    @settings(max_examples=100)
    def check(text: bytes) -> None:
        for scheme, searched in both:
            assert scheme.boundaries(text).tolist() == searched.boundaries(text).tolist(), scheme.text

    both = []
    for name in [*NAMES, "metaspace"]:
        scheme = pretokenization_of(name)
        assert scheme.scanner is not None
        assert scheme.splits
        both.append((scheme, cut_by_functions(*map(regex_cut, scheme.splits), splits=scheme.splits)))
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
def test_boundaries_equal_those_of_the_tokenizers_library(name: str) -> None:
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
    assert unequal_split(scheme, splits, None) is None


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


@pytest.mark.parametrize("setting", [GROUPED, by(r"\p{L}+|\p{N}{1,2}"), "deepseek_v3", "metaspace"])
def test_folders_keep_the_options_of_the_pretokenization(setting: Any, tmp_path: Path) -> None:
    counts = count_pretokens([*TOPICS, ODD], setting)
    made = Tokenizer(build(counts, 500, BpeOptions()), setting, "merge", name="mine")
    made.save(tmp_path)
    scheme = pretokenization_of(setting)
    assert json.loads((tmp_path / "tokbench.json").read_text())["pretokenization"] == scheme.setting
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.scheme, loaded.pretokenization) == (scheme, counts.scheme)
    assert repr(loaded) == f"Tokenizer('mine', {scheme.label}, 500 tokens, merge)"

    @given(PRETOKENIZATIONS_TEXTS)
    @settings(max_examples=60)
    def check(text: bytes) -> None:
        ids = loaded.encode(text)
        assert loaded.decode(ids) == text
        assert loaded.count(text) == len(ids)
        assert [one.tolist() for one in loaded.encode_batch([text, text], threads=2)] == [ids.tolist()] * 2

    check()


def test_options_are_under_the_checksum(tmp_path: Path) -> None:
    Tokenizer(build(count_pretokens(TOPICS, "gpt2"), 300, BpeOptions()), "digits", "greedy").save(tmp_path)
    file = tmp_path / "tokbench.json"
    whole = json.loads(file.read_text())
    file.write_text(json.dumps(whole | {"pretokenization": {"method": "digits", "group": 4}}))
    with pytest.raises(TokbenchError, match="the vocabulary or the settings have changed since they were saved"):
        Tokenizer.load(tmp_path)
    file.write_text(json.dumps(whole | {"pretokenization": {"method": "digits", "groop": 4}}))
    with pytest.raises(TokbenchError, match=rf"^{file}: pretokenization \(digits\): groop: unknown key") as raised:
        Tokenizer.load(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (by(r"[a-z&&[^e]]+"), "Hugging Face's engine cuts '"),
        (by(r"\w+"), "Hugging Face's engine cuts '¼ ¼a¼1"),
        (by(r"(?V1)[\p{L}--[a-e]]+"), "Hugging Face's engine does not take the pattern of 'regex (pattern (?V1"),
        (by(r"\p{L}++(?![a-z])|."), None),
        (GROUPED, None),
    ],
)
def test_export_names_the_reason_if_the_tokenizers_library_differs(
    setting: Any, reason: str | None, tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers")
    counts = count_pretokens(TOPICS, setting)
    told = split_obstacle(pretokenization_of(setting), counts)
    assert told is None if reason is None else str(told).startswith(reason)
    said = export(Tokenizer(build(counts, 400, BpeOptions()), setting, "merge"), counts, tmp_path)
    assert (tmp_path / "tokenizer.json").exists() == (reason is None)
    assert said.startswith("tokenizer.json gives the same ids on" if reason is None else f"not exported: {reason}")


IMPORTED = """
import sys
from tokbench.api import count
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary
for setting in {settings!r}:
    Tokenizer(Vocabulary(BYTES), setting, "greedy").encode(b"a 12")
    count("a 12", setting)
    print("regex" in sys.modules)
"""


def test_the_engine_is_imported_where_it_is_called() -> None:
    """Not for schemes that are scanned."""
    scanned = ["gpt2", "cl100k", "o200k", "deepseek_v3", "metaspace"]
    [told] = each_after("", [IMPORTED.format(settings=[*scanned, "digits"])])
    assert told.split() == ["False"] * len(scanned) + ["True"]


def test_options_from_yaml_and_json_work_from_counting_to_measuring(tokbench: Tokbench, tmp_path: Path) -> None:
    """Counted, built, encoded and measured with options given as YAML; the same from JSON."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"\n".join([*TOPICS, b"In 1234567 cases, 89 of 10000.", ODD]))
    any_bytes = (text, "--encoding", "bytes")
    written = "{method: sequence, steps: [gpt2, {method: digits}]}"
    for number, form in enumerate((written, json.dumps(GROUPED))):
        made = tokbench("count", "--pretokenization", form, "-o", tmp_path / f"{number}.parquet", *any_bytes)
        assert made.status == 0, made.message
    counts = tmp_path / "0.parquet"
    assert counts.read_bytes() == (tmp_path / "1.parquet").read_bytes()
    assert tokbench("build", "bpe", "--counts", counts, "--size", 400, "-o", tmp_path / "made").status == 0
    tokenizer = Tokenizer.load(tmp_path / "made")
    assert tokenizer.scheme.setting == pretokenization_of(GROUPED).setting
    assert (tmp_path / "made" / "tokenizer.json").exists()
    ids = tokbench("encode", tmp_path / "made", text, "-o", tmp_path / "ids.npy")
    assert ids.status == 0
    assert tokenizer.decode(np.load(tmp_path / "ids.npy")) == text.read_bytes()
    assert tokbench("measure", tmp_path / "made", "--counts", counts, "-o", tmp_path / "measured.json").status == 0
    assert tokbench("count", "--pretokenization", "gpt2", "-o", tmp_path / "gpt2.parquet", *any_bytes).status == 0
    other = tokbench("measure", tmp_path / "made", "--counts", tmp_path / "gpt2.parquet")
    assert other.status == 2
    assert f"count with --pretokenization '{pretokenization_of(GROUPED).text}'" in other.message
    assert tokbench("merge_counts", counts, tmp_path / "gpt2.parquet", "-o", tmp_path / "no.parquet").status == 2


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{method: regex, pattern: '('}", "--pretokenization (regex): pattern: is not a regular expression (missing )"),
        ("{method: regex}", "--pretokenization (regex): pattern: this key is missing; add it"),
        ("[gpt2]", "--pretokenization: expected a name, or {method: name, option: value} (found ['gpt2'])"),
        ("{method: regex, pattern: 'z|(?=ж)'}", "pattern 'z|(?=ж)': matches the empty string before 'жук'"),
    ],
)
def test_wrong_commands(form: str, said: str, tokbench: Tokbench, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a жук")
    ended = tokbench("count", "--pretokenization", form, "-o", tmp_path / "no.parquet", tmp_path / "text.txt")
    assert ended.status == 2
    assert said in ended.message
    assert "\n" not in ended.message.strip()
    assert not (tmp_path / "no.parquet").exists()
