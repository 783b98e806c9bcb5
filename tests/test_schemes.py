"""Pre-tokenizations with options: settings, what they do, what is said of wrong ones, and that others go on as ever."""

import json
import pickle
import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import ODD, TOPICS, Tokbench
from tests.imports import each_after
from tests.settings import EVERY
from tests.test_pretokenization import TEXTS
from tokbench import splitting
from tokbench.adapters.splits import why_not
from tokbench.adapters.tokenizer_json import export
from tokbench.construction.bpe import BpeOptions, build
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokenization import Cut, Pretokenization, pretokenization, pretokenization_of, schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.reference import scan as twin
from tokbench.tokenizer import Tokenizer

GROUPED = {"method": "sequence", "steps": ["gpt2", {"method": "digits", "group": 3}]}


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What a test registers is known to no other."""
    schemes.load()
    before = dict(schemes._methods)
    yield
    schemes._methods = before


def pieces(setting: Any, text: str) -> list[str]:
    written = text.encode()
    bounds = pretokenization_of(setting).boundaries(written).tolist()
    return [written[start:end].decode() for start, end in pairwise(bounds)]


def by(pattern: str) -> dict[str, Any]:
    return {"method": "regex", "pattern": pattern}


# Settings


@pytest.mark.parametrize("name", [*KERNEL_SCHEMES, "cl100k", "deepseek_v3", "metaspace", "scripts"])
def test_schemes_without_options_are_their_names(name: str) -> None:
    scheme = pretokenization_of(name)
    assert scheme.setting == scheme.text == scheme.label == scheme.slug == name
    assert pretokenization_of({"method": name}) == scheme


def test_schemes_with_options() -> None:
    scheme = pretokenization_of({"method": "digits"})
    assert scheme.setting == {"method": "digits", "group": 3}
    assert scheme.text == '{"group":3,"method":"digits"}'
    assert scheme.label == "digits (group 3)"
    assert pretokenization_of("digits") == pretokenization_of({"group": 3, "method": "digits"}) == scheme
    assert pretokenization_of(GROUPED).label == "sequence (steps gpt2, digits (group 3))"
    assert pretokenization_of({"method": "sequence", "steps": ["gpt2", "digits"]}) == pretokenization_of(GROUPED)
    assert pretokenization_of(by("a\nb")).label == r"regex (pattern a\nb)"


@pytest.mark.parametrize("setting", EVERY)
def test_every_form_leads_back(setting: str) -> None:
    scheme = pretokenization_of(setting)
    for form in (scheme.setting, scheme.text, scheme, json.loads(json.dumps(scheme.setting)), scheme.setting):
        assert pretokenization_of(form) == scheme
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert re.fullmatch(r"\w{1,60}", scheme.slug)
    assert re.fullmatch(r"[^\n]+", scheme.text)
    assert hash(scheme) == hash(pretokenization_of(scheme.text))


def test_slugs_stay_as_they_are() -> None:
    """Files of results bear them."""
    assert pretokenization_of("digits").slug == "digits_d06e84ab0a8b"
    assert pretokenization_of(GROUPED).slug == "sequence_3b83e3efdaa2"
    assert pretokenization_of(by(r"\p{L}+|é")).slug == "regex_36823ceb82bf"


WRONG: list[tuple[Any, str]] = [
    ("gtp2", "'gtp2' is not a pre-tokenization ("),
    ({"method": "gtp2"}, "Did you mean 'gpt2'?"),
    ({"metod": "gpt2"}, "pretokenization: expected a name, or {method: name, option: value} (found"),
    ("{method: gpt2", "pretokenization: expected a name, or {method: name, option: value} (found"),
    (3, "pretokenization: expected a name"),
    ("regex", "pretokenization (regex): pattern: this key is missing; add it"),
    (
        {"method": "gpt2", "pattern": "a"},
        "pretokenization (gpt2): pattern: unknown key. There is none here; remove it.",
    ),
    ({"method": "digits", "groop": 3}, "pretokenization (digits): groop: unknown key. Did you mean 'group'?"),
    ({"method": "digits", "group": 0}, "pretokenization (digits): group: must be at least 1 (found 0)"),
    (by("("), "pretokenization (regex): pattern: is no regular expression (missing ) at position 1); mend it"),
    (by("[a"), "pretokenization (regex): pattern: is no regular expression (unterminated character set"),
    (by(r"\p{Elvish}"), "pretokenization (regex): pattern: is no regular expression (unknown property"),
    (by(""), "pretokenization (regex): pattern: "),
    (by("\udc80"), "pretokenization (regex): pattern: must be a valid string"),
    (by("a*"), "pretokenization (regex): pattern: matches the empty string, by which nothing is cut"),
    (by(r"\b"), "pretokenization (regex): pattern: matches the empty string, by which nothing is cut"),
    (by(r"(?=\d)"), "pretokenization (regex): pattern: matches the empty string, by which nothing is cut"),
    (by("(" * 3000 + "a" + ")" * 3000), "pretokenization (regex): pattern: "),
    ({"method": "sequence", "steps": []}, "pretokenization (sequence): steps: needs 1 or more entries"),
    ({"method": "sequence", "steps": "gpt2"}, "pretokenization (sequence): steps: must be a list, [a, b]"),
    ({"method": "sequence", "steps": ["gpt2", by("[")]}, "steps.1: step (regex): pattern: is no regular expression"),
    ({"method": "sequence", "steps": [GROUPED]}, "steps.0: is a sequence within a sequence; put its steps here"),
]


@pytest.mark.parametrize(("setting", "said"), WRONG)
def test_mistakes_are_told_in_one_line(setting: Any, said: str) -> None:
    with pytest.raises(TokbenchError, match=re.escape(said)) as raised:
        pretokenization_of(setting)
    assert "\n" not in str(raised.value)


# What they do


@given(TEXTS)
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


@given(TEXTS)
@settings(max_examples=150)
def test_matches_and_what_lies_between(text: bytes) -> None:
    for pattern in PATTERNS:
        assert pretokenization_of(by(pattern)).boundaries(text).tolist() == twin.boundaries(pattern, text), pattern


@given(TEXTS, st.lists(st.sampled_from([*PATTERNS, r"\d", " ?[^ ]+"]), min_size=1, max_size=3))
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


# Patterns that do not end


def test_a_pattern_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "PATIENCE", 0.2)
    setting = by(r"(?:a|a)+b|x")
    with pytest.raises(TokbenchError, match=r"^pattern '\(\?:a\|a\)\+b\|x': takes more than 0 s for 61 char") as raised:
        pretokenization_of(setting).boundaries(b"x" + b"a" * 60)
    assert "stands at 'aaaaaaaaaaaaaaaaaaaa" in str(raised.value)


def test_an_empty_match_that_no_probe_finds() -> None:
    with pytest.raises(TokbenchError, match=r"^pattern 'z\|\(\?=ж\)': matches the empty string before 'жук'"):
        pretokenization_of(by("z|(?=ж)")).boundaries("a жук".encode())


# Tokenizers


@pytest.mark.parametrize("setting", [GROUPED, by(r"\p{L}+|\p{N}{1,2}"), "deepseek_v3", "metaspace"])
def test_folders_hold_their_options(setting: Any, tmp_path: Path) -> None:
    counts = count_pretokens([*TOPICS, ODD], setting)
    made = Tokenizer(build(counts, 500, BpeOptions()), setting, "merge", name="mine")
    made.save(tmp_path)
    scheme = pretokenization_of(setting)
    assert json.loads((tmp_path / "tokbench.json").read_text())["pretokenization"] == scheme.setting
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.scheme, loaded.pretokenization) == (scheme, counts.scheme)
    assert repr(loaded) == f"Tokenizer('mine', {scheme.label}, 500 tokens, merge)"

    @given(TEXTS)
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
    with pytest.raises(TokbenchError, match="not the one that was saved, or the settings are not"):
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
def test_what_the_tokenizers_library_cannot_do_is_said(setting: Any, reason: str | None, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    counts = count_pretokens(TOPICS, setting)
    told = why_not(pretokenization_of(setting), counts)
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


# Third parties


class CommaOptions(Options):
    sign: str = ","


def at(text: bytes, sign: bytes) -> NDArray[np.int64]:
    return np.array([0, *accumulate(len(piece) for piece in re.split(b"(?<=%b)" % re.escape(sign), text) if piece)])


def test_methods_of_third_parties(forgotten: None, tmp_path: Path) -> None:
    """With options and without; alone, and as a step of a sequence."""

    @pretokenization("commas", pattern=None)
    def commas(text: bytes) -> NDArray[np.int64]:
        """After commas."""
        return at(text, b",")

    @pretokenization("signs", options=CommaOptions)
    def signs(options: CommaOptions) -> Cut:
        """After any sign."""
        return Cut(boundaries=lambda text: at(text, options.sign.encode()))

    assert pieces("commas", "a,b,c") == ["a,", "b,", "c"]
    assert pieces("signs", "a,b;c") == ["a,", "b;c"]
    assert pieces({"method": "signs", "sign": ";"}, "a,b;c") == ["a,b;", "c"]
    steps = {"method": "sequence", "steps": ["commas", {"method": "signs", "sign": ";"}, "digit"]}
    assert pieces(steps, "a,b;1c,") == ["a,", "b;", "1", "c,"]
    scheme = pretokenization_of(steps)
    assert set(scheme.modules) == {"tokbench.pretokenization.sequence", __name__, "tokbench.pretokenization.built_in"}
    assert scheme.splits is None
    assert scheme.scanner is None
    counts = count_pretokens([b"a,b;1c,", b""], steps)
    assert dict(counts.items()) == {b"a,": 1, b"b;": 1, b"1": 1, b"c,": 1}
    tokenizer = Tokenizer(build(counts, 300, BpeOptions()), steps, "greedy")
    assert tokenizer.decode(tokenizer.encode(b"a,b;1c,\xff")) == b"a,b;1c,\xff"
    said = export(tokenizer, counts, tmp_path)
    assert said.startswith("not exported: no regular expression cuts as pre-tokenization 'sequence (steps commas")


def test_a_function_with_options_takes_them(forgotten: None) -> None:
    with pytest.raises(TokbenchError, match=r"'none_taken': .* is called as \(options\), which it does not take"):
        pretokenization("none_taken", options=CommaOptions)(lambda: Cut(boundaries=lambda text: np.zeros(1, np.int64)))


def test_steps_are_fingerprinted() -> None:
    names = {name.rpartition(".")[2] for name in pretokenization_of(GROUPED).modules}
    assert names == {"sequence", "built_in", "digits"}


def test_values_are_what_they_are_made_of() -> None:
    assert isinstance(pretokenization_of("gpt2"), Pretokenization)
    assert pretokenization_of("gpt2").splits == (schemes["gpt2"].pattern,)
    assert pretokenization_of("none").splits == ()
    assert len({pretokenization_of(setting) for setting in (*EVERY, *EVERY)}) == len(EVERY)


# The command line


def test_the_whole_way(tokbench: Tokbench, tmp_path: Path) -> None:
    """Counted, built, encoded and measured with options given as YAML; the same from JSON."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"\n".join([*TOPICS, b"In 1234567 cases, 89 of 10000.", ODD]))
    written = "{method: sequence, steps: [gpt2, {method: digits}]}"
    for number, form in enumerate((written, json.dumps(GROUPED))):
        made = tokbench("count", "--pretokenization", form, "-o", tmp_path / f"{number}.parquet", text)
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
    assert tokbench("count", "--pretokenization", "gpt2", "-o", tmp_path / "gpt2.parquet", text).status == 0
    other = tokbench("measure", tmp_path / "made", "--counts", tmp_path / "gpt2.parquet")
    assert other.status == 2
    assert f"count with --pretokenization '{pretokenization_of(GROUPED).text}'" in other.message
    assert tokbench("merge_counts", counts, tmp_path / "gpt2.parquet", "-o", tmp_path / "no.parquet").status == 2


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{method: regex, pattern: '('}", "--pretokenization (regex): pattern: is no regular expression (missing )"),
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
