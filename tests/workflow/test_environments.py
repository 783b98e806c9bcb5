"""Environments of jobs: which commands run in that of language models, its versions, and equal results in both."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics
from types import SimpleNamespace

import polars as pl
import pytest

from tests.support.rules import RULES
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.errors import TokbenchError
from tokbench.io.provenance import versions_of
from tokbench.stage import stages
from tokbench.workflow import environments
from tokbench.workflow.environments import (
    VARIABLE,
    commands_of_language_models,
    environment_of_language_models,
    versions_for,
)
from tokbench.workflow.run import read_experiment
from tokbench.workflow.shell import shell_prefix

NEURAL = SimpleNamespace(byte_lms={"small": SimpleNamespace(kind="neural")})
"""What the stages ask of an experiment."""
CONFIGURATION = {
    "name": "both",
    "seed": 3,
    "corpora": {
        "own": {
            "source": {"type": "jsonl", "path": "topics.jsonl"},
            "shards": 2,
            "splits": {"tokenizer": 0.8, "evaluation": 0.2},
        }
    },
    "variants": {
        "bpe": {"pretokenization": "gpt2", "construction": "bpe"},
        "unigram": {"pretokenization": "gpt2", "construction": "unigram"},
        "pathpiece": {"pretokenization": "first_space", "construction": {"method": "pathpiece", "initial": "bpe"}},
    },
    "sizes": [600],
}


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with torch 9.9 next to that of the workflow; its Python prints the arguments that it gets."""
    folder = tmp_path / ".venv-models"
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text('#!/bin/sh\nshift 3\necho "models: $(tr "\\0" " " < "${1#@}")"\n')
    python.chmod(0o755)
    metadata = folder / "lib" / "python3.12" / "site-packages" / "torch-9.9.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(environments.sys, "prefix", str(tmp_path / ".venv"))
    return folder


def test_the_environment_is_next_to_the_workflows_or_named(
    other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment_of_language_models() == other
    named = other.rename(tmp_path / "named")
    assert environment_of_language_models() is None
    monkeypatch.setenv(VARIABLE, str(named))
    assert environment_of_language_models() == named
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(TokbenchError, match=f"^{VARIABLE}: .* has no bin/python; name the folder of a virtual env"):
        environment_of_language_models()
    with pytest.raises(SystemExit, match=f"^tokbench: {VARIABLE}: "):
        read_experiment(SimpleNamespace(), {})


def test_commands_of_language_models_run_there(other: Path) -> None:
    assert other.is_dir()
    prefix = shell_prefix(separate=False, models=["pretrain", "evaluate"]).format()
    script = f"{prefix} tokbench evaluate -o a 'b c'; tokbench methods > methods.txt"
    done = subprocess.run(["bash", "-c", script], cwd=other, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["models:", "evaluate", "-o", "a", "b", "c"]
    assert (other / "methods.txt").read_text().startswith("Constructions")


def test_versions_are_those_of_the_environment_of_the_jobs(other: Path) -> None:
    assert other.is_dir()
    assert versions_for(stages["translate"], NEURAL) == {"torch": "9.9"}
    assert versions_for(stages["train_byte_lm"], NEURAL) == {"torch": "9.9"}
    assert versions_for(stages["tabulate"], NEURAL) == versions_of(["polars"]) != {}


def test_counted_byte_models_need_no_language_models() -> None:
    counted = SimpleNamespace(byte_lms={"small": SimpleNamespace(kind="ngram")})
    added = {*commands_of_language_models(NEURAL)} - {*commands_of_language_models(counted)}
    assert added == {"train_byte_lm", "score_bytes", "draw_bytes"}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_snakemake_makes_the_same_environment_for_a_rule(rule: str) -> None:
    """A rule names its conda environment; its stage decides it where Snakemake makes none."""
    [written] = re.findall(r"envs/(\w+)\.yaml", RULES[rule][1]["conda"])
    needs = rule in {stage.name for stage in stages} and stages[rule].needs_language_models(NEURAL)
    assert written == ("language_models" if needs else "tokenizers")


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def complete() -> Path:
    """The environment of language models, which has everything but the plug-in of SLURM."""
    if (folder := environment_of_language_models()) is None or folder == Path(sys.prefix):
        pytest.skip("there is one environment")
    return folder


def test_vocabularies_are_the_same_in_both(complete: Path) -> None:
    script = ["-P", str(ROOT / "tests" / "portability" / "vocabularies.py"), "--check"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([python_of(complete), *script], env=environment, check=True)


def test_one_environment_with_everything_gives_the_same_tables(complete: Path, tmp_path: Path) -> None:
    """The whole workflow in the environment of language models, and in this one."""
    tables: dict[str, dict[str, str]] = {}
    for name, prefix in (("both", Path(sys.prefix)), ("one", complete)):
        (tmp_path / name).mkdir()
        checkout = Checkout(tmp_path / name)
        (checkout.folder / "both.yaml").write_text(json.dumps(CONFIGURATION))
        documents = [part for text in topics.values() for part in text.split("\n\n") if part]
        (checkout.folder / "topics.jsonl").write_text("".join(f"{json.dumps({'text': part})}\n" for part in documents))
        line = [python_of(prefix), "-m", "snakemake", "--cores", "2", "--configfile", "both.yaml", "--quiet"]
        wanted = ["results/both/tables", "results/both/leaderboard.csv"]
        subprocess.run([*line, "--", *wanted], cwd=checkout.folder, env=checkout.environment, check=True)
        results = checkout.folder / "results" / "both"
        frames = {
            path.name: pl.read_parquet(path).write_csv() for path in sorted((results / "tables").glob("*.parquet"))
        }
        frames["leaderboard"] = (results / "leaderboard.csv").read_text()
        tables[name] = frames
    assert tables["both"].keys() == tables["one"].keys()
    assert [table for table, text in tables["both"].items() if tables["one"][table] != text] == []
