"""``tokbench init``: a folder from which the installed workflow runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Tokbench
from tokbench.workflow.packaged import FILES, SNAKEFILE

WRITTEN = {
    "Snakefile",
    "config.yaml",
    "profiles/default/config.yaml",
    "profiles/local/config.yaml",
    "profiles/slurm/config.yaml",
}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_package_holds_the_workflow() -> None:
    assert SNAKEFILE.is_file()
    root = Path(__file__).parents[1]
    for name in ("rules", "envs", "profiles", "report"):
        assert files(FILES / name) == files(root / name)


def test_what_is_written_is_an_experiment(tmp_path: Path, tokbench: Tokbench) -> None:
    said = tokbench("init", tmp_path / "mine").stdout.decode()
    assert files(tmp_path / "mine") == WRITTEN
    assert all(name in said for name in WRITTEN)
    assert tokbench("validate", tmp_path / "mine" / "config.yaml").status == 0


def test_what_is_written_names_no_file_that_is_not_there(tmp_path: Path, tokbench: Tokbench) -> None:
    tokbench("init", tmp_path)
    named = re.compile(r"\b(?:docs|envs|experiments|profiles|rules|src)/[\w./]++(?! of Tokbench's repository)")
    for name in WRITTEN:
        for path in named.findall((tmp_path / name).read_text(encoding="utf-8")):
            assert (tmp_path / path.rstrip(".")).exists(), f"{name}: {path}"


def test_a_run_from_there(text: bytes, tmp_path: Path, tokbench: Tokbench) -> None:
    place = tmp_path / "my experiment"
    tokbench("init", place)
    (place / "manual.txt").write_bytes(text)
    (place / "config.yaml").write_text(
        "name: small\nsizes: [300]\n"
        "corpora: {manual: {source: {type: text, path: manual.txt, documents: paragraph, encoding: bytes}}}\n"
        "variants: {bpe: {pretokenization: gpt2, construction: bpe}}\n"
    )
    made = "results/small/tokenizers/bpe/300"
    run = [sys.executable, "-m", "snakemake", "--cores", "1", made]
    said = subprocess.run(run, cwd=place, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert (place / made / "tokens.vocab").read_text().count("\n") == 300
    assert (place / "results" / "small" / ".lock").exists()
    assert tokbench("status", place / "results" / "small").stdout.decode().splitlines()[0].endswith("jobs done")
    assert (place / "results" / "small" / "run.html").is_file()


@pytest.mark.parametrize("there", ["Snakefile", "config.yaml", "profiles/local/config.yaml"])
def test_nothing_is_replaced(there: str, tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    outcome = tokbench("init", tmp_path)
    assert outcome.message == f"tokbench: {tmp_path / there}: stands here already; name another folder, or move it away"
    assert files(tmp_path) == {there}
    assert (tmp_path / there).read_text() == "mine"
