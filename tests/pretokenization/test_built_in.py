"""The built-in pre-tokenization schemes against the regular expressions that define them.

Pre-tokenizations with options: settings, error messages, and methods of third parties.
"""

import gzip
import json
import pickle
import random
import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.support.external_tokenizers import DATA, skip_without
from tests.support.texts import EVERY, GROUPED, PRETOKENIZATIONS_TEXTS, by, pieces
from tokbench.adapters.export_hugging_face import export
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.kernels import unicode_classes
from tokbench.options import Options
from tokbench.pretokenization import Cut, Pretokenization, pretokenization, pretokenization_of, schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as twin
from tokbench.tokenizer import Tokenizer


def pattern(scheme: str) -> str | None:
    return schemes[scheme].pattern


def pretokens(scheme: str, text: str) -> list[str]:
    bounds = schemes[scheme].function(text.encode()).tolist()
    return [text.encode()[start:end].decode() for start, end in pairwise(bounds)]


@given(PRETOKENIZATIONS_TEXTS)
@settings(max_examples=300, deadline=None)
def test_kernel_equals_regex(text: bytes) -> None:
    for scheme in KERNEL_SCHEMES:
        bounds = schemes[scheme].function(text)
        assert bounds.dtype == np.int64
        assert bounds.tolist() == twin.boundaries(pattern(scheme), text), scheme
        assert bounds[-1] == len(text)


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
def test_every_code_point(scheme: str) -> None:
    """Surrogates are encoded too: in UTF-8 they are three invalid bytes each."""
    text = "".join(map(chr, range(0x110000))).encode("utf-8", "surrogatepass")
    assert schemes[scheme].function(text).tolist() == twin.boundaries(pattern(scheme), text)


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
def test_long_ascii(scheme: str) -> None:
    """Runs of every length up to several blocks, at every position within a block of 64 bytes."""
    draw = random.Random(0)
    runs = (draw.choice("  \n\t'slet19.x") * draw.choice([1, 1, 1, 2, 3, draw.randrange(200)]) for _ in range(20_000))
    text = "".join(runs).encode()
    assert schemes[scheme].function(text).tolist() == twin.boundaries(pattern(scheme), text)


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
def test_texts_of_every_length(scheme: str) -> None:
    """The last 64 bytes of a text have their own masks; ends of every kind are at every position."""
    draw = random.Random(2)
    for _ in range(8):
        text = "".join(draw.choices([*"ab's 1.\n", "'ll", "é", "ж", "中", "  "], k=150)).encode()
        for end in range(200):
            assert schemes[scheme].function(text[:end]).tolist() == twin.boundaries(pattern(scheme), text[:end])


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
def test_long_texts_of_letters_of_two_bytes(scheme: str) -> None:
    """With the signs and marks among them, others of two bytes, and first and second bytes that stand alone."""
    draw = random.Random(1)
    near = [chr(code).encode() for code in [*range(0xC0, 0x280), *range(0x400, 0x500)]]
    few = [b" ", b" ", b"  ", b"a", b"Z", b"1", b".", b"'s", b"'", b"\n", b"\xc2\xa0", "’".encode()]
    signs = ["×".encode(), "÷".encode(), *(chr(code).encode() for code in range(0x480, 0x48C))]
    beyond = [chr(code).encode() for code in range(0x80, 0x800)]
    alone = [b"\xc3", b"\xd0", b"\xd2", b"\x97", b"\xb7", b"\x82", b"\xff"]
    for others in ([], signs * 4, beyond[::3], alone * 4, signs + beyond[::40] + alone):
        text = b"".join(draw.choices([*near, *(few * 40), *others], k=3000))
        assert schemes[scheme].function(text).tolist() == twin.boundaries(pattern(scheme), text)


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
def test_boundaries_do_not_depend_on_earlier_text(scheme: str) -> None:
    text = b"  It's\xa0 1984,\n\n they'd  say: 'll \xc2\xa0\xe3\x80\x80x " * 4
    bounds = schemes[scheme].function(text).tolist()
    for index, start in enumerate(bounds[:-1]):
        rest = schemes[scheme].function(text[start:])
        assert (rest + start).tolist() == bounds[index:]


@pytest.mark.parametrize(
    ("scheme", "text", "expected"),
    [
        ("none", "two words", ["two words"]),
        ("space", " a  b\n c", [" ", "a", " ", " ", "b\n", " ", "c"]),
        ("digit", "in 1984 x", ["in ", "1", "9", "8", "4", " x"]),
        ("space_digit", "in\n19 x", ["in\n", "1", "9", " ", "x"]),
        ("first_space", "It's 12:30,  say\n\nend ", ["It's", " 12:30,", " ", " say", "\n", "\n", "end", " "]),
        ("first_space_digit", "a 12  b", ["a", " ", "1", "2", " ", " b"]),
        ("gpt2", "I'll   pay £12.50!!\n", ["I", "'ll", "  ", " pay", " £", "12", ".", "50", "!!", "\n"]),
        ("gpt2", "I'LL 'twas!'s  ", ["I", "'", "LL", " '", "twas", "!'", "s", "  "]),
        ("gpt2", "\xa0a \u3000\u3000b\x1c", ["\xa0", "a", " \u3000", "\u3000", "b", "\x1c"]),
    ],
)
def test_examples(scheme: str, text: str, expected: list[str]) -> None:
    assert pretokens(scheme, text) == expected


def test_empty_text() -> None:
    assert all(schemes[scheme].function(b"").tolist() == [0] for scheme in KERNEL_SCHEMES)


def test_built_in_schemes_are_registered() -> None:
    assert set(KERNEL_SCHEMES) <= set(schemes)
    assert all(schemes[scheme].summary for scheme in KERNEL_SCHEMES)
    with pytest.raises(TokbenchError, match="Did you mean 'gpt2'"):
        schemes["gtp2"]


@pytest.mark.parametrize(
    ("name", "members"),
    [("LETTERS", r"\p{L}"), ("DIGITS", r"\d"), ("NUMERALS", r"[\p{N}--\d]"), ("BLANKS", r"\s")],
)
def test_unicode_classes_are_those_of_regex(name: str, members: str) -> None:
    """On failure: ``python tools/make_unicode_classes.py``."""
    every = "".join(map(chr, range(0x110000)))
    spans = [run.span() for run in regex.finditer(rf"(?V1)(?:{members})+", every)]
    words = getattr(unicode_classes, name).split()
    ends = [(word.partition("-")[0], word.rpartition("-")[2]) for word in words]
    assert [(int(first, 16), int(last, 16) + 1) for first, last in ends] == spans


@pytest.mark.parametrize("scheme", KERNEL_SCHEMES)
@pytest.mark.parametrize(
    "name", ["multilingual/udhr", "multilingual/flores101", "english/novels", "english/arxiv_sample"]
)
def test_real_text(scheme: str, name: str) -> None:
    path = DATA / f"{name}.jsonl.gz"
    skip_without(path)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        text = "".join(_text(json.loads(line))[:4_000] for line, _ in zip(lines, range(60), strict=False)).encode()
    assert schemes[scheme].function(text).tolist() == twin.boundaries(pattern(scheme), text)


def _text(document: dict[str, object]) -> str:
    text = document.get("text") or document.get("sentences")
    return text if isinstance(text, str) else "\n".join(map(str, text))  # type: ignore[call-overload]


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Methods that a test registers are removed after it."""
    schemes.load()
    before = dict(schemes._methods)
    yield
    schemes._methods = before


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
        "pretokenization (gpt2): pattern: unknown key. No keys are allowed here; remove it.",
    ),
    ({"method": "digits", "groop": 3}, "pretokenization (digits): groop: unknown key. Did you mean 'group'?"),
    ({"method": "digits", "group": 0}, "pretokenization (digits): group: must be at least 1 (found 0)"),
    (by("("), "pretokenization (regex): pattern: is not a regular expression (missing ) at position 1); correct it"),
    (by("[a"), "pretokenization (regex): pattern: is not a regular expression (unterminated character set"),
    (by(r"\p{Elvish}"), "pretokenization (regex): pattern: is not a regular expression (unknown property"),
    (by(""), "pretokenization (regex): pattern: "),
    (by("\udc80"), "pretokenization (regex): pattern: must be a valid string"),
    (by("a*"), "pretokenization (regex): pattern: matches the empty string, which splits nothing"),
    (by(r"\b"), "pretokenization (regex): pattern: matches the empty string, which splits nothing"),
    (by(r"(?=\d)"), "pretokenization (regex): pattern: matches the empty string, which splits nothing"),
    (by("(" * 3000 + "a" + ")" * 3000), "pretokenization (regex): pattern: "),
    ({"method": "sequence", "steps": []}, "pretokenization (sequence): steps: needs 1 or more entries"),
    (
        {"method": "sequence", "steps": "gpt2"},
        "pretokenization (sequence): steps: must be a list (found 'gpt2'); write ['gpt2']",
    ),
    ({"method": "sequence", "steps": ["gpt2", by("[")]}, "steps.1: step (regex): pattern: is not a regular expression"),
    ({"method": "sequence", "steps": [GROUPED]}, "steps.0: is a sequence within a sequence; put its steps here"),
]


@pytest.mark.parametrize(("setting", "said"), WRONG)
def test_mistakes_in_settings_are_one_line_errors(setting: Any, said: str) -> None:
    with pytest.raises(TokbenchError, match=re.escape(said)) as raised:
        pretokenization_of(setting)
    assert "\n" not in str(raised.value)


def test_steps_are_fingerprinted() -> None:
    names = {name.rpartition(".")[2] for name in pretokenization_of(GROUPED).modules}
    assert names == {"sequence", "built_in", "digits"}


def test_equal_settings_give_equal_pretokenizations() -> None:
    assert isinstance(pretokenization_of("gpt2"), Pretokenization)
    assert pretokenization_of("gpt2").splits == (schemes["gpt2"].pattern,)
    assert pretokenization_of("none").splits == ()
    assert len({pretokenization_of(setting) for setting in (*EVERY, *EVERY)}) == len(EVERY)


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
    with pytest.raises(TokbenchError, match=r"'none_taken': .* is called as \(options\), which it does not accept"):
        pretokenization("none_taken", options=CommaOptions)(lambda: Cut(boundaries=lambda text: np.zeros(1, np.int64)))
