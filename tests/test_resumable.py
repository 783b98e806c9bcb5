"""Killed anywhere, the next run goes on: a declared output stands whole or not at all."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.workflow.checkout import Checkout
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

CONFIGURATIONS = Path(__file__).parent / "support" / "workflow"
RESULTS = ("corpus", "pretokens", "initial", "tokenizers", "intrinsic", "tables", "statistics")
UNTOLD = ("manifest.json", ".snakemake_timestamp")
"""Files that tell the time."""
PATIENCE = 120.0
"""Seconds until a test gives up waiting for what it wants to kill."""


@pytest.fixture(scope="module")
def checkout(text: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("resumable"))
    (made.folder / "manual.txt").write_bytes(text)
    yield made
    made.close()


def kill_when(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Kill the process and all that it started, with the signal that nothing can catch."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def contents(folder: Path) -> dict[Path, bytes]:
    """All files of the results that stay and do not tell the time."""
    return {
        file.relative_to(folder): file.read_bytes()
        for part in RESULTS
        for file in sorted((folder / part).rglob("*"))
        if file.is_file() and file.name not in UNTOLD and ".partial" not in str(file)
        if not (part == "pretokens" and file.stem.isdigit())
    }


def test_killed_run_goes_on(checkout: Checkout) -> None:
    """The run that is killed and resumed has one core, the run that is not has two."""
    configuration = ("--configfile", str(CONFIGURATIONS / "interrupted.yaml"))
    checkout.snakemake("--cores", "2", "results/interrupted/statistics", *configuration)
    whole = contents(checkout.folder / "results" / "interrupted")

    resumed = ("--cores", "1", "resumed/interrupted/statistics", *configuration, "--config", "results=resumed")
    results = checkout.folder / "resumed" / "interrupted"
    kill_when(lambda: list(results.glob("logs/build/*/*.log")), checkout.start(*resumed))
    left = contents(results)
    assert left
    assert left.items() <= whole.items()
    assert not (results / "tables").exists()

    assert "It can be removed with the --unlock argument." in checkout.snakemake(*resumed, status=1)
    checkout.snakemake("--unlock", *resumed)
    printed = checkout.snakemake(*resumed)
    assert "prepare corpus" not in printed
    assert contents(results) == whole


def test_damaged_shard_stops_only_what_needs_it(checkout: Checkout) -> None:
    configuration = ("--configfile", str(CONFIGURATIONS / "damaged.yaml"))
    corpora = checkout.folder / "results" / "damaged" / "corpus"
    checkout.snakemake("--cores", "2", "results/damaged/corpus/sound", "results/damaged/corpus/damaged", *configuration)
    shard = corpora / "damaged" / "evaluation" / "0000.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])

    printed = checkout.snakemake("--cores", "2", *configuration, status=1)
    results = corpora.parent
    assert (results / "intrinsic" / "on_sound" / "300.json").is_file()
    assert (results / "tokenizers" / "on_damaged" / "300").is_dir()
    assert not (results / "intrinsic" / "on_damaged").exists()
    told = (results / "logs" / "count_split" / "damaged" / "evaluation" / "gpt2.log").read_text()
    assert told.count("\n") == 1
    assert told.startswith("tokbench: results/damaged/corpus/damaged/evaluation/0000.parquet: ")
    assert told in printed


def test_a_corpus_in_parts_is_that_of_one_job_even_after_a_kill(checkout: Checkout, text: bytes) -> None:
    (checkout.folder / "pages").mkdir()
    for place in range(4):
        (checkout.folder / "pages" / f"{place}.txt").write_bytes(text[place::4] if place else text)
    configuration = ("--configfile", str(CONFIGURATIONS / "in_parts.yaml"))
    results = checkout.folder / "results" / "in_parts"
    wanted = ("--cores", "1", "results/in_parts/corpus/parts", *configuration)
    kill_when(lambda: list(results.glob("logs/write_shards/parts/*")), checkout.start(*wanted))
    assert not (results / "corpus" / "parts").exists()

    checkout.snakemake("--unlock", *wanted)
    printed = checkout.snakemake(*wanted)
    assert "prepare corpus parts" in printed
    assert "read the sizes" not in printed
    checkout.snakemake("--cores", "1", "results/in_parts/corpus/once", *configuration)
    whole = contents(results)
    one, other = (
        {file.relative_to(f"corpus/{name}"): data for file, data in whole.items() if name in file.parts}
        for name in ("once", "parts")
    )
    assert len(one) == 5
    assert one == other
    kept = sorted(path.name for path in (results / "parts" / "parts").rglob("*") if path.is_file())
    assert kept == ["0000.parquet", "0001.parquet", "0002.parquet"]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tokbench.commands.main", *arguments],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_preparation_leaves_no_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (tmp_path / "lines.txt").write_bytes(b"a line\n" * 300_000)
    source = {"type": "text", "path": str(tmp_path / "lines.txt"), "documents": "line"}
    command = ("prepare", "--recipe", json.dumps({"source": source}), "-o", str(corpus))
    kill_when(lambda: list(tmp_path.glob(".corpus.*/*/*")), start(*command))
    assert not corpus.exists()


def test_killed_construction_leaves_no_tokenizer(tmp_path: Path, counts: PretokenCounts) -> None:
    tokenizer = tmp_path / "tokenizer"
    counts.write(tmp_path / "counts.parquet")
    command = ("build", "bpe", "--counts", str(tmp_path / "counts.parquet"), "--size", "1024", "-o", str(tokenizer))
    kill_when(lambda: list(tmp_path.glob(".tokenizer.*")), start(*command))
    assert not tokenizer.exists()

    again = start(*command)
    _, told = again.communicate()
    assert again.returncode == 0, told
    assert len(Tokenizer.load(tokenizer)) == 1024
