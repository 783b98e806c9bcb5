"""Each plain-Python reference runs by hand, and every link to one leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import tokbench
from tokbench.commands.methods import command
from tokbench.reference.__main__ import DEMONSTRATIONS, main

ROOT = Path(tokbench.__file__).parent
REFERENCES = {path.stem for path in (ROOT / "reference").glob("*.py") if not path.stem.startswith("__")}
LINKING = [path for folder in ("kernels", "construction", "segmentation") for path in (ROOT / folder).glob("*.py*")]


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


def test_what_is_not_there_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["bpee"], [], ["bpe", "text", "many"]):
        assert main(arguments) == 2
        assert "NAME is one of bpe, " in capsys.readouterr().out


def test_links() -> None:
    """Modules name references that there are; of those of the three folders none is without a link."""
    link = re.compile(r":mod:`tokbench\.reference\.(\w+)`")
    linked = {name for path in LINKING if path.suffix in {".py", ".pyx"} for name in link.findall(path.read_text())}
    assert linked <= REFERENCES
    assert REFERENCES - linked == {"morphology", "splitmix"}


def test_methods_name_them() -> None:
    told = CliRunner().invoke(command, ["picky_bpe"]).output
    assert "python -m tokbench.reference picky_bpe" in " ".join(told.split())
