"""Jobs in a container: what Apptainer is called with, and what its recipe copies."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.workflow.checkout import ROOT, Checkout

RECIPE = ROOT / "envs" / "container.def"
CONFIGURATION = """\
name: boxed
corpora: {text: {source: {type: text, path: text.txt}}}
variants: {bpe: {pretokenization: gpt2, construction: bpe}}
sizes: [300]
"""
ARGUMENTS = ("--configfile", "boxed.yaml", "--software-deployment-method", "apptainer", "--until", "build")
APPTAINER = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.3.0"; exit; fi
echo "$@" | grep -o "^exec\\|tokbench.sif bash" | tr '\\n' ' ' >> calls.txt
while [ "$1" != bash ]; do shift; done
exec "$@"
"""
"""Runs what it is to run in a container where it is."""
INSIDE = """#!/bin/sh
echo inside >> inside.txt
exec {} -m tokbench "$@"
"""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_jobs_run_in_the_container(tmp_path: Path) -> None:
    """The command is the container's own, and no job is a fork of what is outside."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    checkout = Checkout(folder, stand_in=True)
    put(tmp_path / "bin" / "apptainer", APPTAINER)
    put(tmp_path / "bin" / "tokbench", INSIDE.format(sys.executable))
    put(folder / "tokbench.sif", "")
    put(folder / "boxed.yaml", CONFIGURATION)
    put(folder / "text.txt", "a")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", *ARGUMENTS],
        cwd=folder,
        env=checkout.environment | {"PATH": f"{tmp_path / 'bin'}:{os.defpath}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs = ("prepare", "count_split", "build")
    assert (folder / "calls.txt").read_text() == "exec tokbench.sif bash " * len(jobs)
    assert (folder / "inside.txt").read_text() == "inside\n" * len(jobs)


def test_the_recipe_copies_what_is_there_and_what_the_package_needs() -> None:
    [block] = re.findall(r"^%files\n((?:    .+\n)+)", RECIPE.read_text(), re.MULTILINE)
    copied = {word for line in block.splitlines() for word in line.split() if not word.startswith("/opt/")}
    assert [word for word in sorted(copied) if not (ROOT / word).exists()] == []
    linked = {path.resolve().name for path in (ROOT / "src/tokbench/workflow/files").iterdir()}
    assert {"src", "setup.py", "pyproject.toml", "README.md", "LICENSE", "requirements.lock"} | linked <= copied
