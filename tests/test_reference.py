"""Each plain-Python reference runs by hand, and every link to one leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import tokbench
from tokbench.commands.method_listing import KINDS, reference_of
from tokbench.commands.methods import command
from tokbench.reference.__main__ import DEMONSTRATIONS, main

ROOT = Path(tokbench.__file__).parent
REFERENCES = {path.stem for path in (ROOT / "reference").glob("*.py") if not path.stem.startswith("__")}
LINKING = [
    path
    for folder in ("kernels", "construction", "segmentation", "metric", "pretokenization")
    for path in (ROOT / folder).glob("*.py*")
]


def test_each_has_a_demonstration() -> None:
    assert DEMONSTRATIONS.keys() == REFERENCES


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_demonstration(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It says something of its example and of another text, and says the same again."""
    told = []
    for arguments in ([name], [name], [name, "a banana and a bandana, nana", "4"]):
        assert main(arguments) == 0
        told.append(capsys.readouterr().out)
    assert told[0]
    assert told[0] == told[1]
    assert told[2]
    assert name == "morphology" or told[0] != told[2]


def test_merges_are_shown_in_order() -> None:
    command = [sys.executable, "-m", "tokbench.reference", "bpe", "abab abab", "2"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["a + b -> ab", "ab + ab -> abab", "abab: abab", "_abab: _ | abab"]


@pytest.mark.parametrize("kind", KINDS)
def test_methods_name_what_is_there_in_plain_python(kind: str) -> None:
    named = {
        method.name: reference_of(method) for method in KINDS[kind].methods() if method.module.startswith("tokbench.")
    }
    assert {found[0] for found in named.values() if found} <= REFERENCES
    without = {name for name, found in named.items() if found is None}
    assert not without & REFERENCES
    assert kind not in ("construction", "segmentation") or not without
    assert kind != "pre-tokenization" or without == {"scripts"}


def test_what_is_not_there_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["bpee"], [], ["bpe", "text", "many"]):
        assert main(arguments) == 2
        assert "NAME is one of bpe, " in capsys.readouterr().out


def test_links() -> None:
    """Modules name references that there are; of those of these folders none is without a link."""
    link = re.compile(r":mod:`tokbench\.reference\.(\w+)`")
    linked = {name for path in LINKING if path.suffix in {".py", ".pyx"} for name in link.findall(path.read_text())}
    assert linked <= REFERENCES
    assert REFERENCES - linked == {"splitmix"}


def test_methods_name_them() -> None:
    told = CliRunner().invoke(command, ["picky_bpe"]).output
    assert "python -m tokbench.reference picky_bpe" in " ".join(told.split())
