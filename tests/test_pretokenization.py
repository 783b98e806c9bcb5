"""The built-in pre-tokenization schemes against the regular expressions that define them."""

import gzip
import json
import random
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings

from tests.support.external_data import DATA, skip_without
from tests.support.pretokenizations import TEXTS
from tokbench.errors import TokbenchError
from tokbench.kernels import unicode_classes
from tokbench.pretokenization import schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.reference import scan as twin


def pattern(scheme: str) -> str | None:
    return schemes[scheme].pattern


def pretokens(scheme: str, text: str) -> list[str]:
    bounds = schemes[scheme].function(text.encode()).tolist()
    return [text.encode()[start:end].decode() for start, end in pairwise(bounds)]


@given(TEXTS)
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
def test_boundaries_do_not_depend_on_what_precedes(scheme: str) -> None:
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
