"""The wheel, built and installed by itself: a command line and a Python interface without the language-model stack."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
STACK = ("torch", "transformers", "llmfoundry", "composer", "streaming", "lm_eval", "datasets", "snakemake")
WITHOUT_STACK = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {STACK!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    build = ["uv", "build", "--quiet", "--offline", "--wheel", "--no-build-isolation", "--out-dir", place, ROOT]
    subprocess.run(build, check=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """Where the wheel is installed, beside a module that hides the language-model stack."""
    place = wheel.parent / "site"
    subprocess.run(["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--target", place, wheel], check=True)
    (place / "sitecustomize.py").write_text(WITHOUT_STACK)
    return place


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_it_holds_what_runs_and_nothing_that_was_generated(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    kernels = {path.stem for path in (ROOT / "src" / "tokbench" / "kernels").glob("*.pyx")}
    assert {name.split("/")[-1].partition(".")[0] for name in names if name.endswith(".so")} >= kernels
    assert not [name for name in names if name.endswith((".c", ".cpp"))]
    packaged = {name.removeprefix("tokbench/workflow/files/") for name in names if "/workflow/files/" in name}
    ours = {"Snakefile", "config.yaml"} | {
        path.relative_to(ROOT).as_posix()
        for folder in ("rules", "envs", "profiles", "report")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    assert packaged == ours
    assert {"tokbench/py.typed", "snakemake_logger_plugin_lines/__init__.py"} <= names


def test_from_python(installed: Path, tmp_path: Path) -> None:
    code = (
        "import tokbench; counts = tokbench.count(['the cat and the hat'] * 3);"
        "made = [tokbench.build('bpe', counts, size) for size in (260, 262)];"
        "print(tokbench.__file__, tokbench.compare(made, ['the hat', 'a cat']).shape);"
        "tokbench.measure(made[0], 'a cat')"
    )
    said = run(installed, tmp_path, "-c", code)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(str(installed))
    assert "(2, 8)" in said.stdout


def test_command_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sat on the mat\nand the hat\n" * 9)
    for line in (
        "count --scheme gpt2 text.txt -o counts.parquet",
        "build bpe --counts counts.parquet --size 264 -o bpe",
        "build unigram --counts counts.parquet --size 264 -o unigram",
        "encode bpe text.txt -o ids",
        "decode bpe ids -o back.txt",
        "measure bpe --counts counts.parquet -o measured.json",
        "compare bpe unigram text.txt",
        "methods pathpiece",
        "init mine",
        "validate mine/config.yaml",
    ):
        said = run(installed, tmp_path, "-m", "tokbench", *line.split())
        assert said.returncode == 0, f"{line}: {said.stderr}"
    assert (tmp_path / "back.txt").read_bytes() == (tmp_path / "text.txt").read_bytes()
    assert (tmp_path / "bpe" / "tokenizer.json").is_file()
    lacking = ["pretrain", "--recipe", "tiny", "--packed", "bpe", "--tokenizer", "bpe", "-o", "model"]
    said = run(installed, tmp_path, "-m", "tokbench", *lacking)
    assert said.returncode == 2
    assert said.stderr.endswith("is not installed; install 'tokbench[language-models]'\n")
