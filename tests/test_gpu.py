"""benchmarks/gpu.py: what it counts, and a run on the CPU that its limit ends and the same command finishes."""

import csv
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

from gpu import RECIPE, speed
from gpu_device import START, gauged
from gpu_tables import COLUMNS, markdown

from tokbench.corpus.documents import SCHEMA
from tokbench.pretraining.flops import flops_per_token
from tokbench.pretraining.needs import parameters
from tokbench.pretraining.options import MptOptions

ROOT = Path(__file__).parents[1]
OPTIONS = MptOptions.model_validate(RECIPE)
TEXT = b"the cat sat on the mat, and then the dog sat on the cat. " * 40
TINY = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "max_seq_len": 32,
    "batch": 4,
    "microbatch": 4,
    "batches": 21,
    "epochs": None,
    "precision": "fp32",
    "device": "cpu",
    "checkpoint_every": 10,
}
STARTS = """
import multiprocessing, os, sys
from gpu import import_libraries, main
import_libraries()
forked = multiprocessing.get_context("fork")
multiprocessing.get_context = lambda method: forked
given = sys.argv[1:]
for limit in ("20", "300"):
    started = os.fork()
    if not started:
        sys.argv = ["gpu.py", "--limit", limit, *given]
        main()
        sys.exit()
    print("status", os.waitstatus_to_exitcode(os.waitpid(started, 0)[1]), flush=True)
    os.replace("out/runs.parquet", f"{limit}.parquet")
"""
"""A program that starts the script twice. Forks stand in for new processes, which would all import the libraries."""


def test_arithmetic_is_six_times_the_weights_and_that_of_the_scores() -> None:
    norms = (2 * OPTIONS.n_layers + 1) * OPTIONS.d_model
    weights = parameters(OPTIONS, 8192) - norms
    assert flops_per_token(OPTIONS, 8192) == 6 * weights + 12 * 6 * 512 * 1024
    assert weights == 6 * 12 * 512**2 + 129 * 64 * 512


def test_speed_leaves_out_the_first_batches_and_one_that_is_slow() -> None:
    seconds = [30.0 * (batch > 0) + 0.5 * batch + 60 * (batch > 70) for batch in range(121)]
    rows = [{"tokens": str(100 * batch), "seconds": str(at)} for batch, at in enumerate(seconds)]
    assert speed(rows) == pytest.approx(200)
    assert speed(rows[:15]) is None


def test_joules_of_all_starts(tmp_path: Path) -> None:
    file = tmp_path / "gauge"
    assert gauged(file) == (None, None, None)
    file.write_text(f"{START}0.50,40.0,1073741824\n1.00,90.0,2147483648\n1.00,90.5,0\n{START}{START}0.50,7.0,0\n0.9")
    assert gauged(file) == (97.5, 2.0, 3)
    file.write_text(START)
    assert gauged(file) == (None, None, 1)


def test_page_shows_the_tables_that_are_kept() -> None:
    with (ROOT / "docs" / "performance" / "gpu" / "runs.csv").open(newline="") as file:
        rows = [{name: read(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert set(rows[0]) == set(COLUMNS)
    assert markdown(rows) in (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")


def read(cell: str) -> Any:
    try:
        return json.loads(cell) if cell else None
    except ValueError:
        return cell


def test_ends_at_its_limit_and_goes_on(tmp_path: Path) -> None:
    if find_spec("llmfoundry") is None:
        pytest.skip("the language-model stack, an extra of the package, is not installed")
    from tokbench.api import build, count

    build("bpe", count([TEXT]), 260).save(tmp_path / "tokenizers" / "bpe" / "260")
    (tmp_path / "tokenizers" / "bad" / "260").mkdir(parents=True)
    (tmp_path / "tokenizers" / "bad" / "260" / "tokens.vocab").write_text("")
    for split in ("pretraining", "evaluation"):
        (tmp_path / "corpus" / split).mkdir(parents=True)
        table = pa.table({"document": [0], "language": ["en"], "text": pa.array([TEXT], pa.large_binary())}, SCHEMA)
        pq.write_table(table, tmp_path / "corpus" / split / "0000.parquet")

    options = ["--peak", "0.01", "--recipe", json.dumps(TINY)]
    folders = ["--tokenizers", "tokenizers", "--corpus", "corpus", "-o", "out"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'benchmarks'}", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", STARTS, *options, *folders],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    statuses = [int(line.split()[1]) for line in ended.stdout.splitlines() if line.startswith("status ")]
    assert statuses == [0, 1], ended.stderr
    tables = (pq.read_table(tmp_path / f"{limit}.parquet", use_threads=False) for limit in (20, 300))
    rows, (bad, bpe) = (table.to_pylist() for table in tables)
    assert [row["failed"] for row in rows] == ["the limit came before its training"] * 2
    assert bad["variant"] == "bad"
    assert bad["bits_per_byte"] is None
    assert bad["failed"].startswith("TokbenchError")
    assert (bpe["variant"], bpe["size"], bpe["vocabulary"], bpe["failed"]) == ("bpe", 260, 260, None)
    assert (bpe["batches"], bpe["evaluation_bytes"]) == (21, len(TEXT))
    assert 20 * 4 * 32 < bpe["tokens"] <= 21 * 4 * 32
    assert 0 < bpe["bits_per_byte"] < 8
    assert bpe["mfu"] == pytest.approx(bpe["tokens_per_second"] * bpe["gflop_per_token"] * 1e9 / 1e10)
