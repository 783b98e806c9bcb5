"""Pre-tokenizations with options: settings, what is said of wrong ones, and those of third parties."""

import json
import pickle
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.pretokenizations import EVERY, GROUPED, by, pieces
from tokbench.adapters.tokenizer_json import export
from tokbench.construction.bpe import BpeOptions, build
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokenization import Cut, Pretokenization, pretokenization, pretokenization_of, schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.tokenizer import Tokenizer


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What a test registers is known to no other."""
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


def test_steps_are_fingerprinted() -> None:
    names = {name.rpartition(".")[2] for name in pretokenization_of(GROUPED).modules}
    assert names == {"sequence", "built_in", "digits"}


def test_values_are_what_they_are_made_of() -> None:
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
    with pytest.raises(TokbenchError, match=r"'none_taken': .* is called as \(options\), which it does not take"):
        pretokenization("none_taken", options=CommaOptions)(lambda: Cut(boundaries=lambda text: np.zeros(1, np.int64)))
