"""Definitions of modules, and their place in the user's cache."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.workflow.module_sources import Import, Name, parse_source

SOURCE = b'''"""A module."""
import json
from tokbench.errors import TokbenchError as Error
from .other import helper
A = helper.times(1)
def first(n: int = 2) -> int:
    """Documentation."""
    import numpy as np
    return np.sum([A, json.dumps(n), "table.csv"])
print(first())
'''
FINGERPRINT = "import sys; from tokbench.workflow.fingerprint import fingerprint; print(fingerprint(*sys.argv[1:]))"
NAMES = ("tokbench.construction.bpe:build", "tokbench.report.html:render")


def test_definitions_and_their_uses() -> None:
    source = parse_source("tokbench.some.module", SOURCE)
    assert list(source.definitions) == ["A", "first", ""]
    assert source.imports["helper"] == Name("tokbench.some.other", "helper")
    assert source.definitions["A"].imported == [Import(Name("tokbench.some.other", "helper"), "times")]
    assert source.definitions["first"].siblings == ["A"]
    assert source.definitions["first"].imported == []
    assert "table.csv" in source.definitions["first"].texts
    assert source.definitions[""].siblings == ["first"]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (b"Documentation", b"Other words", set()),
        (b"n: int = 2", b"n: int  =  2", set()),
        (b"= 2", b"= 3", {"first"}),
        (b"import numpy as np", b"import polars as np", {"first"}),
        (b"import json\n", b"import msgspec as json\n", {"first"}),
        (b"times(1)", b"times(2)", {"A"}),
    ],
)
def test_code_of_definitions(old: bytes, new: bytes, changes: set[str]) -> None:
    """Names of other distributions count by their origin."""
    before, after = (
        parse_source("tokbench.some.module", text).definitions for text in (SOURCE, SOURCE.replace(old, new))
    )
    assert {name for name in before if before[name].code != after[name].code} == changes


def test_relative_imports_of_packages() -> None:
    source = parse_source("tokbench.some", b"from .other import A\n", package=True)
    assert source.imports == {"A": Name("tokbench.some.other", "A")}


def fingerprint_with(cache: str) -> str:
    """Return a fingerprint computed by a process with its own cache."""
    environment = os.environ | {"XDG_CACHE_HOME": cache}
    command = [sys.executable, "-c", FINGERPRINT, *NAMES]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_kept_definitions_give_the_same_fingerprint(tmp_path: Path) -> None:
    """Also those of a damaged cache, or without one; definitions are kept by the text of their module."""
    expected = fingerprint_with("/dev/null")
    assert fingerprint_with(str(tmp_path)) == expected
    [path] = (tmp_path / "tokbench" / "modules").iterdir()
    kept = json.loads(path.read_bytes())
    written = path.stat().st_mtime_ns
    assert fingerprint_with(str(tmp_path)) == expected
    assert path.stat().st_mtime_ns == written, "nothing was parsed"
    # A definition of the cache is used if the text is the same.
    kept["tokbench.construction.bpe"][1]["build"][0] = "0"
    path.write_text(json.dumps(kept))
    assert fingerprint_with(str(tmp_path)) != expected
    path.write_text(json.dumps(kept | {"tokbench.construction.bpe": ["", *kept["tokbench.construction.bpe"][1:]]}))
    assert fingerprint_with(str(tmp_path)) == expected
    # Damaged files and entries are made again.
    name = "tokbench.construction.bpe"
    entries = [[], 1, [kept[name][0], {"a": [1]}], [kept[name][0], [], {}]]
    for damaged in ("{", "[]", *(json.dumps({name: entry}) for entry in entries)):
        path.write_text(damaged)
        assert fingerprint_with(str(tmp_path)) == expected
