"""Patterns of tokenizer.json, which another engine reads: ours cut as it does, or are not taken for the same."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from tests import made_elsewhere as made
from tests.existing import few, level, library_ids, read, why  # noqa: F401
from tokbench.adapters.adapted import AdaptedTokenizer
from tokbench.adapters.forms import NotNativeError
from tokbench.adapters.forms.oniguruma import translated
from tokbench.adapters.probes import probes
from tokbench.adapters.splits import why_not
from tokbench.pretokenization import pretokenization_of

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

TEXTS = ("a\nxx", "xx\na", "xx\n", "\nxx\n", "x\n\nx", "\n", "xxxxx", "$x^", "X x\n", "\nx\n\n")


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"^x+", r"x+$", r"\n^", r"\n$", r"^[^a]", r"x+(?:$|a)", r"(?:^|a)x", r"(?=\n|x$)x", r"(?<=^)x+", r"^x$"),
        *(
            r"[$^]+",
            r"[^$x]+",
            r"\$\^?",
            r"x\$",
            r"[]x]+",
            r"[\]x$]+",
            r"[[:alpha:]$]+",
            r"x{1,2}",
            r"x{1,2}?",
            r"x++$",
        ),
        *(r"(?i)x+$|a", r"(?i:x)+", r"\Ax+", r"(?<one>x)$", r"(?>x+)$", r"x{"),
    ],
)
def test_translated_patterns_cut_as_the_engine_does(pattern: str) -> None:
    theirs = Split(Regex(pattern), "isolated")
    scheme = pretokenization_of({"method": "regex", "pattern": translated(pattern)})
    for text in TEXTS:
        data = text.encode()
        ours = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
        assert ours == [piece for piece, _ in theirs.pre_tokenize_str(text)], text


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        *((r"x{1,2}+", "{1,2}+"), (r"x{2}+", "{2}+"), (r"ax{2}?", "{2}?"), (r"x\Z", r"\Z"), (r"\h+", r"\h")),
        *((r"(?m:a.)", "(?m:"), (r"(?x) a", "(?x)"), (r"a(?i)b|c", "(?i)"), (r"[[a]b]", "[a"), (r"[a&&b]", "&&")),
        *((r"[a\h]", r"\h"), ("(?m)^x", "(?m)")),
    ],
)
def test_what_has_no_translation_is_named(pattern: str, part: str) -> None:
    with pytest.raises(NotNativeError) as caught:
        translated(pattern)
    assert str(caught.value) == f"its pattern has '{part}', which tokenizers reads otherwise than we do"


@pytest.mark.parametrize(
    ("pattern", "native"), [(r"^1+|\S|\s", True), (r"1+$|\S|\s", True), (r"1{1,2}+|\S|\s", False), (r"1*+?|\S", False)]
)
def test_files_with_such_patterns_have_the_ids_of_the_library(
    pattern: str, native: bool, level: dict[str, Any], tmp_path: Path
) -> None:
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = level["model"]
    vocabulary = model["vocab"] | {"11": len(model["vocab"])}
    values = level | {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [made.split(pattern), last]},
        "model": model | {"vocab": vocabulary, "merges": [["1", "1"], *model["merges"]]},
    }
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer) != native, why(tokenizer)
    for text in ("a\n11", "11\na", "11111", "a11\n11 11"):
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


@pytest.mark.parametrize("pattern", [r"^x+|\S|\s", r"x+$|\S|\s", r"x{1,2}+|\S|\s"])
def test_schemes_that_the_engine_reads_otherwise_are_not_exported(pattern: str) -> None:
    told = why_not(pretokenization_of({"method": "regex", "pattern": pattern}), None)
    assert told is not None
    assert told.startswith("Hugging Face's engine cuts '")


def test_probes_have_every_sign_of_ascii_at_the_ends_of_lines() -> None:
    tried = b"\n\n".join(probes())
    for code in range(0x21, 0x7F):
        for count in range(2, 6):
            assert b"\n%b\n" % (bytes([code]) * count) in tried
            assert b" %b\n " % (bytes([code]) * count) in tried
