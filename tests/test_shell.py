"""What a rule's shell calls ``tokbench``: the package of the running interpreter, however long the arguments."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.utils import format as filled

from tests.conftest import Tokbench
from tests.support.rules import RULES
from tests.support.workflow.checkout import STAND_IN
from tokbench.config.load import validate
from tokbench.workflow.shell import flags, shell_prefix
from tokbench.workflow.statistics import all_tokenizers, baseline_flags, pilot_flags, recipes, venn_flags

ODD = ["", "a b", "$(touch pwned)", "'", '"', "\\", "-x", "@y", "*", "a\nb", "東京"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a package ``tokbench`` that only leaves its arguments, and a command of that name."""
    (tmp_path / "tokbench").mkdir()
    (tmp_path / "tokbench" / "__init__.py").touch()
    (tmp_path / "tokbench" / "__main__.py").write_text(STAND_IN)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tokbench"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/tokbench/__main__.py "$@"\n')
    command.chmod(0o755)
    return tmp_path


def received(folder: Path, script: str, *, apart: bool = False, path: str = os.defpath) -> list[str]:
    """The arguments that reach the command which ``script`` calls after the prefix."""
    (folder / "script").write_text(shell_prefix(apart=apart).format() + script)
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder)}
    subprocess.run(["bash", "script"], cwd=folder, env=environment, check=True)
    return (folder / "out.json").read_text().split("\0")


def test_running_interpreter_is_called_whatever_the_search_path(folder: Path) -> None:
    assert received(folder, "tokbench count -o out.json") == ["count", "-o", "out.json"]


def test_conda_environment_calls_its_own(folder: Path) -> None:
    path = os.pathsep.join([str(folder / "bin"), os.defpath])
    assert received(folder, "tokbench count -o out.json", apart=True, path=path) == ["count", "-o", "out.json"]


def test_arguments_arrive_as_they_are(folder: Path) -> None:
    script = "tokbench -o out.json " + " ".join("'" + one.replace("'", "'\\''") + "'" for one in ODD)
    assert received(folder, script) == ["-o", "out.json", *ODD]
    assert not (folder / "pwned").exists()


def test_arguments_may_be_more_than_a_process_takes(folder: Path) -> None:
    """One argument of a megabyte, and many that come to more than the operating system hands on at a time."""
    files = [f"{'long' * 20}-{number}" for number in range(40_000)]
    script = f"tokbench -o out.json --recipe {'r' * 2**20} {' '.join(files)}"
    assert received(folder, script) == ["-o", "out.json", "--recipe", "r" * 2**20, *files]


def test_a_failure_is_told(folder: Path) -> None:
    (folder / "tokbench" / "__main__.py").write_text("raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        received(folder, "tokbench count -o out.json; echo never > out.json")
    assert failure.value.returncode == 3


@pytest.mark.parametrize("written", ["count\n--help\n", "count\0--help\0", "count\n--help"])
def test_command_line_in_a_file(tokbench: Tokbench, tmp_path: Path, written: str) -> None:
    (tmp_path / "line").write_text(written)
    done = tokbench(f"@{tmp_path / 'line'}")
    assert done.status == 0
    assert b"Usage: tokbench count" in done.stdout


def test_command_line_in_no_file(tokbench: Tokbench, tmp_path: Path) -> None:
    assert tokbench(f"@{tmp_path / 'none'}").message == f"tokbench: {tmp_path / 'none'}: No such file or directory"


def test_only_the_whole_command_line_is_read_from_a_file(tokbench: Tokbench) -> None:
    assert "@words.txt" in tokbench("count", "--scheme", "gpt2", "-o", "none", "@words.txt").message


class Given(str):
    """A rule's input, by itself and by its name."""

    tables = "tables"


@pytest.mark.parametrize(("rule", "least"), [("tabulate", 60_000), ("analyse", 6)])
def test_a_thousand_variants(folder: Path, experiment: dict[str, Any], rule: str, least: int) -> None:
    """What a rule passes grows with the experiment, past what a process takes; all of it arrives."""
    sizes = [300 + number for number in range(10)]
    variants = {f"variant_{number:04}": experiment["variants"]["bpe"] for number in range(1000)}
    many = validate({**experiment, "variants": variants, "sizes": sizes, "runs": []}, "mine")
    tokenizers = [f"results/tokenizers/{variant}/{size}" for variant, size in all_tokenizers(many)]
    named = {
        "intrinsic": [f"{path}.json" for path in tokenizers],
        "tokenizer": tokenizers,
        "downstream": ["a b"] * 10_000,
    }
    params = {
        "inputs": flags(None, named),
        "baseline": baseline_flags(many),
        "venn": venn_flags(many),
        "recipes": recipes(many),
        "pilot": pilot_flags(many),
    }
    written = "".join(re.findall(r'"(.*)"', RULES[rule][1]["shell"]))
    given = Given("tables")
    line = filled(written, input=given, output="out.json", log="log", params=SimpleNamespace(**params))
    arguments = received(folder, line)
    assert len(arguments) >= least
    assert arguments[0] == rule
    if rule == "tabulate":
        assert [path for flag, path in pairwise(arguments) if flag == "--tokenizer"] == tokenizers
        assert [path for flag, path in pairwise(arguments) if flag == "--downstream"] == named["downstream"]
    else:
        assert len(params["recipes"]) > 131_071
        assert params["recipes"] in arguments
