"""benchmarks/gpu: its counts, and a run on the CPU that its limit ends and the same command finishes."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from benchmarks.gpu.run import RECIPE
from benchmarks.gpu.tables import COLUMNS, markdown
from tokbench.config.load import read as read_experiment
from tokbench.construction import constructions
from tokbench.corpus.documents import schema
from tokbench.errors import TokbenchError
from tokbench.models.memory import lm_parameters
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.pretraining.options import MptOptions
from tokbench.models.sampler import (
    GAUGES,
    START,
    ThroughputLog,
    peak_of,
    read_samples,
    remove_samples,
    sample_resources,
    speed,
    training_cost,
)
from tokbench.workflow.trainings import trainings, trainings_text

ROOT = Path(__file__).parents[2]
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
from benchmarks.gpu.run import import_libraries, main
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
    weights = lm_parameters(OPTIONS, 8192) - norms
    assert flops_per_token(OPTIONS, 8192) == 6 * weights + 12 * 6 * 512 * 1024
    assert weights == 6 * 12 * 512**2 + 129 * 64 * 512


def test_speed_leaves_out_the_first_batches_and_one_that_is_slow() -> None:
    seconds = [30.0 * (batch > 0) + 0.5 * batch + 60 * (batch > 70) for batch in range(121)]
    marks = [(100 * batch, at) for batch, at in enumerate(seconds)]
    assert speed(marks) == pytest.approx(200)
    assert speed(marks[:20]) is None
    assert speed(marks[:21]) == pytest.approx(200)


def test_speed_is_the_median_of_ten_stretches() -> None:
    """Of two batches each, behind ten that are left out."""
    paces = [*[1000] * 10, *(pace for pace in (70, 20, 90, 10, 60, 30, 100, 40, 80, 50) for _ in range(2))]
    seconds = [0.0, *accumulate(100 / pace for pace in paces)]
    assert speed([(100 * batch, at) for batch, at in enumerate(seconds)]) == pytest.approx(55)


def test_throughput_log_resumes_and_excludes_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that were lost count for nothing, nor does the time between; a long training has marks of some steps."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pace = ThroughputLog(4)
    pace.resume(None)
    for step in (1, 2):
        now[0] += 1
        pace.mark(step, 10 * step)
    now[0] += 0.5
    state = json.loads(json.dumps(pace.state))
    now[0] += 1
    pace.mark(3, 30)
    now[0] += 100
    pace = ThroughputLog(4)
    pace.resume(state)
    for step in (3, 4):
        now[0] += 1
        pace.mark(step, 10 * step)
        with pace.pause():
            now[0] += 20
    assert pace.marks == [(10, 1.0), (20, 2.0), (30, 3.5), (40, 4.5)]
    long = ThroughputLog(2500)
    now[0] += 0.1236
    for step in range(1, 2501):
        long.mark(step, step)
    assert [tokens for tokens, _ in long.marks] == [*range(2, 2501, 2)]
    assert {seconds for _, seconds in long.marks} == {0.124}


def test_joules_of_all_starts(tmp_path: Path) -> None:
    """They are unknown if a start was killed, or had no GPU."""
    file = tmp_path / "gauge"
    assert read_samples(file) == (None, None, None)
    file.write_text(f"{START}90.5,1073741824\n{START}7.0,2147483648\n")
    assert read_samples(file) == (97.5, 2.0, 2)
    file.write_text(START)
    assert read_samples(file) == (None, None, 1)
    file.write_text(f"{START}{START}7.0,1073741824\n")
    assert read_samples(file) == (None, 1.0, 2)
    file.write_text(f"{START},1073741824\n")
    assert read_samples(file) == (None, 1.0, 1)


def test_resource_samples_of_earlier_trainings_are_removed(tmp_path: Path) -> None:
    for _ in range(2):
        remove_samples(tmp_path)
        with sample_resources(tmp_path / GAUGES / "0.csv", on_gpu=False):
            pass
        assert read_samples(tmp_path / GAUGES / "0.csv")[2] == 1, "of the last training alone"


def test_peak_memory_is_that_of_the_device() -> None:
    known = {"NVIDIA A100-SXM4-80GB": 312.0, "NVIDIA A100 80GB PCIe": 312.0, "NVIDIA H200": 989.4}
    known["NVIDIA H100 80GB HBM3"] = 989.4
    assert {name: peak_of(name) for name in known} == known
    for other in ("NVIDIA H200 NVL", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA A100X", "NVIDIA H100 PCIe", "cpu"):
        assert peak_of(other) is None


@pytest.mark.parametrize(("counted", "joules"), [([1000, 5000], 4.0), ([1000], None)])
def test_a_gpu_is_found_by_its_uuid(
    counted: list[int], joules: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that fails at the end leaves no joules and ends no training."""
    asked, counters = [], iter(counted)
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda name: asked.append(name),
        nvmlDeviceGetTotalEnergyConsumption=lambda _: next(counters),
        nvmlDeviceGetMemoryInfo=lambda _: SimpleNamespace(used=2**30),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    cuda = SimpleNamespace(current_device=lambda: 1, get_device_properties=lambda one: SimpleNamespace(uuid=one))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    with sample_resources(tmp_path / "0.csv"):
        pass
    assert asked == ["GPU-1"]
    assert read_samples(tmp_path / "0.csv") == (joules, joules and 1.0, 1)


def test_training_cost_sums_devices(tmp_path: Path) -> None:
    """On two A100: the peak is that of both, joules are summed, and the most memory is that of any."""
    marks = [(100 * batch, 0.5 * batch) for batch in range(121)]
    for rank, line in enumerate(("30.0,1073741824", "40.0,2147483648")):
        (tmp_path / f"{rank}.csv").write_text(f"{START}{line}\n")
    took = training_cost(tmp_path, marks, 3.12e10, 312.0, 2)
    assert took == {
        "seconds": 60.0,
        "tokens_per_second": pytest.approx(200),
        "flops_per_token": 3.12e10,
        "mfu": pytest.approx(200 * 3.12e10 / 624e12),
        "peak_gib": 2.0,
        "joules": 70.0,
        "starts": 1,
    }
    for processes, more in ((4, ""), (2, f"{START}1.0,1\n")):
        with (tmp_path / "0.csv").open("a") as file:
            file.write(more)
        took = training_cost(tmp_path, marks, 3.12e10, 312.0, processes)
        assert (took["tokens_per_second"], took["mfu"]) == (None, None)
    with sample_resources(tmp_path / "cpu" / "0.csv"):
        pass
    took = training_cost(tmp_path / "cpu", marks, 3.12e10, None, 1)
    assert (took["mfu"], took["joules"], took["starts"]) == (None, None, 1)
    assert took["peak_gib"] > 0.01

    home = tmp_path / "results" / "models" / "m" / "bpe" / "400"
    home.mkdir(parents=True)
    settings = {
        "device": "cpu",
        "devices": 1,
        "read": {"text_bytes": 48000, "tokens": 12000, "flops": 3.744e14},
        "effort": took,
    }
    (home / "manifest.json").write_text(json.dumps({"settings": settings}))
    for size in ("2048", "own"):
        shutil.copytree(home, home.parent / size)
    other, row, largest = trainings(tmp_path / "results", peak=0.02)
    assert (other.size, largest.size) == ("own", "2048")
    assert row[:9] == ("language", "m", None, "bpe", "400", "cpu", 1, 48000, 12000)
    assert row.flops == 3.744e14
    assert row.mfu == pytest.approx(200 * 3.12e10 / 2e10)
    assert trainings_text([row])[1].split()[:10] == [
        *("language", "m", "-", "bpe", "400", "cpu", "1", "48,000", "12,000", "3.744e+14")
    ]
    with pytest.raises(TokbenchError, match="no trained model"):
        list(trainings(tmp_path))


def test_trainings_table_lists_models_of_every_kind(tmp_path: Path) -> None:
    """N-grams are counted and not trained; a joint vocabulary is named once."""
    kept = {
        "translation_models/t/pairs/en/de/bpe/unigram/400": {},
        "translation_models/t/pairs/en/de/bpe/bpe/400": {"effort": {"starts": 2}},
        "byte_lm/text/b/model": {"read": {"tokens": 7}},
        "byte_lm/text/counted/model": {"kind": "ngram"},
        "models/m/bpe/400": {},
    }
    for place, settings in kept.items():
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "manifest.json").write_text(json.dumps({"settings": settings}))
    found = list(trainings(tmp_path))
    assert [row[:5] for row in found] == [
        ("language", "m", None, "bpe", "400"),
        ("byte", "b", "text", None, None),
        ("translation", "t", "pairs/en/de", "bpe", "400"),
        ("translation", "t", "pairs/en/de", "bpe/unigram", "400"),
    ]
    assert (found[1].tokens, found[2].starts) == (7, 2)


def test_page_shows_the_tables_that_are_kept() -> None:
    with (ROOT / "docs" / "measured" / "performance" / "gpu" / "runs.csv").open(newline="") as file:
        rows = [{name: read(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert set(rows[0]) == set(COLUMNS)
    assert markdown(rows) in (ROOT / "docs" / "measured" / "gpu.md").read_text(encoding="utf-8")
    variants = yaml.safe_load((ROOT / "benchmarks" / "gpu" / "gpu.yaml").read_text(encoding="utf-8"))["variants"]
    assert {row["variant"] for row in rows} == {*list(variants)[:11]}


def test_a_tokenizer_of_every_construction_is_built_for_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "books.jsonl").touch()
    experiment = read_experiment(ROOT / "benchmarks" / "gpu" / "gpu.yaml", {"books": str(tmp_path / "books.jsonl")})
    of_files = {
        "bpe_continued",
        "bpe_pruned",
        "bpe_knockout",
        "morphbpe",
    }  # They read a tokenizer or gold data of the user.
    assert {variant.construction.method for variant in experiment.built.values()} == set(constructions) - of_files


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
        table = pa.table({"document": [0], "language": ["en"], "text": pa.array([TEXT], pa.large_binary())}, schema())
        pq.write_table(table, tmp_path / "corpus" / split / "0000.parquet")

    options = ["--peak", "0.01", "--recipe", json.dumps(TINY)]
    folders = ["--tokenizers", "tokenizers", "--corpus", "corpus", "-o", "out"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
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
