"""What jobs of models ask for."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.packing import packed_documents
from tokbench.commands.main import main
from tokbench.config.load import read
from tokbench.counting.languages import write_languages
from tokbench.model_memory import lm_applying_memory, lm_parameters, lm_training_memory
from tokbench.pretokens import PretokenCounts
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.options import PRESETS
from tokbench.pretraining.phases import read_phases
from tokbench.workflow.pretraining import Models
from tokbench.workflow.resources import (
    MARGIN,
    MAX_RUNTIME,
    OVERHEAD,
    UNKNOWN,
    double_on_retry,
    extend_on_retry,
    memory_for_counts,
)

ROOT = Path(__file__).parents[1]


def test_memory_of_models_is_that_of_training_and_less_without() -> None:
    """The smallest takes little more than its libraries; a parameter in training twenty bytes."""
    tiny, large = PRESETS["tiny"], PRESETS["mpt_2_4b"]
    assert 1.1e9 < lm_applying_memory(tiny, 2048, 8) < lm_training_memory(tiny, 2048) < 1.4e9
    assert lm_training_memory(large, 40_960) > 20 * lm_parameters(large, 40_960) > lm_applying_memory(large, 40_960, 1)


MEASURED = [
    (1024, 64, 4, 2, 8, 1036),
    (2048, 256, 4, 4, 8, 1301),
    (2048, 256, 4, 4, 2, 1075),
    (2048, 512, 8, 8, 8, 3128),
    (2048, 512, 8, 8, 1, 1631),
]
"""Vocabulary, width, heads, layers and sequences of 256 tokens at a time, and the MB that ``tokbench pretrain`` took at
its most (``ru_maxrss`` of the process, three batches of 8 on a processor in float32)."""


@pytest.mark.parametrize(("vocabulary", "width", "heads", "layers", "microbatch", "used"), MEASURED)
def test_training_asks_for_what_it_uses_and_not_much_more(
    vocabulary: int, width: int, heads: int, layers: int, microbatch: int, used: int
) -> None:
    shape = {"d_model": width, "n_heads": heads, "n_layers": layers, "microbatch": microbatch}
    options = PRESETS["tiny"].model_copy(update=shape)
    assert used < lm_training_memory(options, vocabulary) / 1e6 < 1.35 * used


def test_requests_of_models_follow_from_their_recipes() -> None:
    models = Models(read(ROOT / "config.yaml", {"models": {"tiny": {"preset": "mpt_350m"}}}))
    wildcards = SimpleNamespace(model="tiny", variant="bpe", size="40960")
    none = SimpleNamespace(packed="none")
    assert models.gpus(wildcards) == 1
    assert [models.training_time(wildcards, none, attempt) for attempt in (1, 2, 3)] == [2880] * 3
    first, second = (models.training_memory(wildcards, attempt) for attempt in (1, 2))
    assert 10_000 < first < 12_000
    assert second == 2 * first
    small = Models(read(ROOT / "config.yaml", {}))
    assert small.gpus(wildcards) == 0
    assert small.training_time(wildcards, none, 1) < 60
    assert 1_500 < small.applying_memory(wildcards, 1) < 8_000


@pytest.mark.parametrize("budget", [TextBudget(text_bytes=200_000_000), TextBudget(epochs=250_000.0)])
def test_the_time_of_a_budget_of_text_is_told_by_packed_sequences(budget: TextBudget, tmp_path: Path) -> None:
    """It is that of as many batches; two days while there are none, and where they are of another model."""
    preset = {"preset": "tiny", "max_seq_len": 32, "device": "cpu"}
    of_text = preset | {"batches": None, "epochs": budget.epochs, "text_bytes": budget.text_bytes}
    wildcards = SimpleNamespace(model="tiny", variant="bpe", size="256")
    given = SimpleNamespace(packed=tmp_path / "packed")
    models = Models(read(ROOT / "config.yaml", {"models": {"tiny": of_text}}))
    assert models.training_time(wildcards, given, 1) == MAX_RUNTIME
    packed_documents(given.packed, budget=budget)
    [phase] = read_phases(models.experiment.models["tiny"], given.packed)
    equal = Models(read(ROOT / "config.yaml", {"models": {"tiny": preset | {"batches": phase.course.batches}}}))
    asked = models.training_time(wildcards, given, 1)
    assert 60 < asked < 1440
    assert asked == equal.training_time(wildcards, SimpleNamespace(packed="none"), 1)
    (given.packed / "packing.json").write_text("{}")
    assert models.training_time(wildcards, given, 1) == MAX_RUNTIME


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Tells the most that a process takes: from a small one, because the peak of a process counts for what it starts."""


def words_of_letters(path: Path, words: int, letters: int) -> str:
    """The file of counts of words that hardly share a substring."""
    rng = np.random.default_rng(words)
    data = rng.integers(97, 123, words * letters, np.uint8)
    offsets = np.arange(0, letters * words + 1, letters, dtype=np.int64)
    PretokenCounts.merged(data, offsets, rng.integers(1, 50, words), "gpt2").write(path)
    return str(path)


def used_by(*command: str) -> float:
    """MB that a command takes at its most."""
    called = [sys.executable, "-c", PEAK, sys.executable, "-m", "tokbench", *command]
    return int(subprocess.run(called, stdout=subprocess.PIPE, check=True).stdout) * 1024 / 1e6


SIZES = [("bpe", words, 8) for words in (10_000, 40_000, 160_000)]
SIZES += [("unigram", words, letters) for words, letters in ((5_000, 8), (20_000, 16), (80_000, 8))]
SIZES += [("greedtok", words, letters) for words, letters in ((10_000, 8), (40_000, 16), (160_000, 12))]
SIZES += [("convextok", words, letters) for words, letters in ((5_000, 8), (10_000, 16), (40_000, 8))]


@pytest.mark.parametrize(("construction", "words", "letters"), SIZES)
def test_building_asks_for_what_it_uses(construction: str, words: int, letters: int, tmp_path: Path) -> None:
    """On three sizes; what is asked for beside that is little."""
    file = words_of_letters(tmp_path / "counts.parquet", words, letters)
    quick = ["--set", "steps=20"] if construction == "convextok" else []
    used = used_by("build", construction, "--counts", file, "--size", "300", *quick, "-o", str(tmp_path / "tokenizer"))
    asked = memory_for_counts([construction], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN
    assert memory_for_counts([construction], file, 2) == 2 * asked


@pytest.mark.parametrize(("words", "letters"), [(10_000, 8), (40_000, 16), (160_000, 8)])
def test_measuring_asks_for_what_it_uses(words: int, letters: int, tmp_path: Path) -> None:
    file, tokenizer = words_of_letters(tmp_path / "counts.parquet", words, letters), str(tmp_path / "bytes")
    main(["build", "bpe", "--counts", file, "--size", "256", "-o", tokenizer])
    used = used_by("measure", tokenizer, "--counts", file, "-o", str(tmp_path / "measured.json"))
    asked = memory_for_counts(["measure"], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN


@pytest.mark.parametrize(("words", "letters"), [(1_000, 8), (4_000, 12), (12_000, 8)])
def test_measuring_languages_asks_for_what_it_uses(words: int, letters: int, tmp_path: Path) -> None:
    """Counts of ten languages, each held by itself and in all."""
    file, tokenizer = words_of_letters(tmp_path / "counts.parquet", words, letters), str(tmp_path / "bytes")
    main(["build", "bpe", "--counts", file, "--size", "256", "-o", tokenizer])
    counts = PretokenCounts.read(file)
    write_languages({f"l{number}": counts for number in range(10)}, Path(file))
    used = used_by("measure", tokenizer, "--counts", file, "-o", str(tmp_path / "measured.json"))
    asked = memory_for_counts(["measure"], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN


def test_without_counts_a_construction_asks_for_what_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "damaged.parquet").write_text("no counts")
    assert memory_for_counts(["bpe"], str(tmp_path / "damaged.parquet"), 1) == UNKNOWN
    assert memory_for_counts(["bpe"], str(tmp_path / "later.parquet"), 1) == UNKNOWN
    assert memory_for_counts(["bpe"], None, 3) == 4 * UNKNOWN


def test_memory_doubles_and_time_grows_by_as_much() -> None:
    assert [double_on_retry(4000)(None, attempt) for attempt in (1, 2, 3)] == [4000, 8000, 16000]
    assert [extend_on_retry(60)(None, attempt) for attempt in (1, 2, 3)] == [60, 120, 180]
    assert [extend_on_retry(1440)(None, attempt) for attempt in (1, 2, 3)] == [1440, 2880, 2880]
