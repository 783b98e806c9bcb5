"""Requested resources of model jobs.

The memory of a construction is estimated before it begins, with pre-tokens that may be left out to reduce it.
"""

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.small_models import packed_documents
from tokbench.commands.main import main
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.models.memory import lm_applying_memory, lm_parameters, lm_training_memory
from tokbench.models.pretraining.budget import TextBudget
from tokbench.models.pretraining.options import PRESETS
from tokbench.models.pretraining.phases import read_phases
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import read_min_count, write_languages
from tokbench.runtime import memory_model
from tokbench.runtime.memory_model import CountProfile, MemoryCoefficients
from tokbench.workflow.models import Models
from tokbench.workflow.resources import (
    MARGIN,
    MAX_RUNTIME,
    OVERHEAD,
    UNKNOWN,
    double_on_retry,
    extend_on_retry,
    memory_for_counts,
)
from tokbench.workflow.tokenizers import Variants

ROOT = Path(__file__).parents[2]


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
def test_training_requests_slightly_more_memory_than_it_uses(
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
def test_requested_time_of_a_text_budget_follows_packed_sequences(budget: TextBudget, tmp_path: Path) -> None:
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
def test_building_requests_the_memory_that_it_uses(construction: str, words: int, letters: int, tmp_path: Path) -> None:
    """On three sizes; what is asked for beside that is little."""
    file = words_of_letters(tmp_path / "counts.parquet", words, letters)
    quick = ["--set", "steps=20"] if construction == "convextok" else []
    used = used_by("build", construction, "--counts", file, "--size", "300", *quick, "-o", str(tmp_path / "tokenizer"))
    asked = memory_for_counts([construction], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN
    assert memory_for_counts([construction], file, 2) == 2 * asked


@pytest.mark.parametrize(("words", "letters"), [(10_000, 8), (40_000, 16), (160_000, 8)])
def test_measuring_requests_the_memory_that_it_uses(words: int, letters: int, tmp_path: Path) -> None:
    file, tokenizer = words_of_letters(tmp_path / "counts.parquet", words, letters), str(tmp_path / "bytes")
    main(["build", "bpe", "--counts", file, "--size", "256", "-o", tokenizer])
    used = used_by("measure", tokenizer, "--counts", file, "-o", str(tmp_path / "measured.json"))
    asked = memory_for_counts(["measure"], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN


@pytest.mark.parametrize(("words", "letters"), [(1_000, 8), (4_000, 12), (12_000, 8)])
def test_measuring_languages_requests_the_memory_that_it_uses(words: int, letters: int, tmp_path: Path) -> None:
    """Counts of ten languages, each held by itself and in all."""
    file, tokenizer = words_of_letters(tmp_path / "counts.parquet", words, letters), str(tmp_path / "bytes")
    main(["build", "bpe", "--counts", file, "--size", "256", "-o", tokenizer])
    counts = PretokenCounts.read(file)
    write_languages({f"l{number}": counts for number in range(10)}, Path(file))
    used = used_by("measure", tokenizer, "--counts", file, "-o", str(tmp_path / "measured.json"))
    asked = memory_for_counts(["measure"], file, 1)
    assert used + OVERHEAD < asked < 2 * used + OVERHEAD + MARGIN


def test_construction_without_counts_requests_the_default_memory(tmp_path: Path) -> None:
    (tmp_path / "damaged.parquet").write_text("no counts")
    assert memory_for_counts(["bpe"], str(tmp_path / "damaged.parquet"), 1) == UNKNOWN
    assert memory_for_counts(["bpe"], str(tmp_path / "later.parquet"), 1) == UNKNOWN
    assert memory_for_counts(["bpe"], None, 3) == 4 * UNKNOWN


def test_memory_doubles_and_time_grows_by_as_much() -> None:
    assert [double_on_retry(4000)(None, attempt) for attempt in (1, 2, 3)] == [4000, 8000, 16000]
    assert [extend_on_retry(60)(None, attempt) for attempt in (1, 2, 3)] == [60, 120, 180]
    assert [extend_on_retry(1440)(None, attempt) for attempt in (1, 2, 3)] == [1440, 2880, 2880]


COUNTS = st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 2**40), min_size=1, max_size=12)


def test_every_construction_that_reads_counts_was_measured() -> None:
    stages = {"bound", "measure", "measure_languages"}
    assert memory_model.table().keys() == stages | {
        method.name for method in constructions.methods() if method.source == "counts"
    }
    for name, need in memory_model.table().items():
        assert need.base > 0, name
        assert need.per_pretoken + need.per_byte + need.per_place > 0, name


def places(word: bytes, longest: int = 2**31) -> int:
    ends = ((first, last) for first in range(len(word)) for last in range(first + 2, len(word) + 1))
    return sum(last - first <= longest for first, last in ends)


@given(st.binary(max_size=9), st.integers(2, 10))
def test_places_of_substrings(word: bytes, longest: int) -> None:
    lengths = np.array([len(word)], np.int64)
    assert memory_model.places_of(lengths) == [places(word)]
    assert memory_model.places_of(lengths, longest) == [places(word, longest)]


@given(COUNTS, st.integers(1, 2**41), st.integers(1, 5))
def test_a_profile_says_how_much_there_is_from_each_count_on(pairs: dict[bytes, int], least: int, batch: int) -> None:
    rows = list(pairs.items())
    batches = (
        (np.array([len(token) for token, _ in part], np.int64), np.array([count for _, count in part], np.int64))
        for part in (rows[start : start + batch] for start in range(0, len(rows), batch))
    )
    profile = CountProfile.of(batches, least)
    assert {1, least} <= set(profile.thresholds.tolist())
    for place, threshold in enumerate(profile.thresholds.tolist()):
        kept = {token: count for token, count in pairs.items() if count >= threshold}
        assert profile.pretokens[place] == len(kept)
        assert profile.sizes[place] == sum(map(len, kept))
        assert profile.places[place] == sum(map(places, kept))
        assert profile.total[place] == sum(kept.values())
        assert profile.total_bytes[place] == sum(len(token) * count for token, count in kept.items())


@given(COUNTS, st.integers(1, 2**41))
def test_rare_pretokens_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, pairs: dict[bytes, int], least: int
) -> None:
    """For files in canonical and any other order."""
    folder = tmp_path_factory.mktemp("frequent")
    whole = PretokenCounts.from_pairs(pairs.items(), "gpt2")
    whole.write(folder / "ordered.parquet")
    (folder / "any.tsv").write_text("".join(f"{token.hex()}\t{count}\n" for token, count in pairs.items()))
    kept = [(token, count) for token, count in whole.items() if count >= least]
    for path, scheme in ((folder / "ordered.parquet", "gpt2"), (folder / "any.tsv", None)):
        found, left = read_min_count(path, least)
        assert (list(found.items()), found.scheme) == (kept, scheme)
        assert left.unique == len(whole) - len(kept)
        assert math.isclose(left.pretokens, 1 - sum(count for _, count in kept) / whole.total, abs_tol=1e-12)
        lengths = sum(len(token) * count for token, count in kept)
        assert math.isclose(left.bytes, 1 - lengths / whole.total_bytes, abs_tol=1e-12)


def profile(pairs: list[tuple[bytes, int]]) -> CountProfile:
    lengths, counts = (np.array(row, np.int64) for row in zip(*((len(a), b) for a, b in pairs), strict=True))
    return CountProfile.of([(lengths, counts)])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """One method that takes a megabyte, and one more for each pre-token."""
    monkeypatch.setattr(
        memory_model,
        "table",
        lambda: {"one": MemoryCoefficients(1e6, 1e6, 0.0), "byte": MemoryCoefficients(1e6, 0.0, 1e6)},
    )


@pytest.mark.usefixtures("measured")
def test_the_line_names_need_bound_and_remedy() -> None:
    rows = profile([(b"a", 64), (b"bb", 8), (b"cc", 7), (b"d", 1)])
    memory_model.require(["one"], rows, 1, 5)
    memory_model.require(["of a third party"], rows, 1, 1)
    with pytest.raises(TokbenchError) as told:
        memory_model.require(["one"], rows, 1, 3)
    assert str(told.value) == (
        "--memory 3: 'one' needs about 5 MB for 4 unique pre-tokens; allow that much, or set min_count 8, which takes "
        "about 3 MB and leaves out 10.00% of the pre-tokens and 15.79% of the bytes of the text"
    )
    memory_model.require(["one"], rows, 8, 3)
    with pytest.raises(TokbenchError, match=r"--memory 1: 'one' needs about 5 MB for 4 unique pre-tokens; allow that"):
        memory_model.require(["one"], rows, 1, 1)
    with pytest.raises(TokbenchError, match="'byte' needs about 7 MB"):
        memory_model.require(["one", "byte"], rows, 1, 5)


def test_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    """A need that is not met ends before anything is built; a tokenizer tells what was left out of it."""
    counts = tmp_path / "counts.tsv"
    words = [(f"word{number}".encode(), 1 + 100 // (1 + number)) for number in range(300)]
    counts.write_text("".join(f"{word.hex()}\t{count}\n" for word, count in words))
    build = ["build", "bpe", "--counts", counts, "--scheme", "gpt2", "--size", "280", "-o", tmp_path / "bpe"]
    told = tokbench(*build, "--memory", "1")
    assert told.status == 2
    assert told.message.startswith("tokbench: --memory 1: 'bpe' needs about ")
    assert not (tmp_path / "bpe").exists()
    done = tokbench(*build, "--memory", "4000", "--min-count", "2")
    assert done.status == 0
    manifest = json.loads((tmp_path / "bpe" / "manifest.json").read_text())["settings"]
    rare = [(word, count) for word, count in words if count < 2]
    assert manifest["min_count"] == 2
    assert manifest["left_out"]["unique_pretokens"] == len(rare)
    assert manifest["left_out"]["pretokens"] == pytest.approx(len(rare) / sum(count for _, count in words))
    assert f"left out {len(rare)} unique pre-tokens seen less than 2 times" in done.stderr
    tokbench(*build)
    assert "min_count" not in json.loads((tmp_path / "bpe" / "manifest.json").read_text())["settings"]
    told = tokbench("build", "bytespan", "--min-count", "2", "--size", "300", "-o", tmp_path / "other")
    assert told.status == 2
    assert "reads no pre-token counts" in told.message


def test_a_variant_says_it_only_where_it_leaves_something_out() -> None:
    written = {
        "name": "small",
        "corpora": {"text": {"source": {"type": "embedded"}}},
        "variants": {
            "all": {"pretokenization": "gpt2", "construction": {"method": "bpe"}},
            "frequent": {"pretokenization": "gpt2", "construction": {"method": "bpe"}, "min_count": 5},
            "spans": {"pretokenization": "gpt2", "construction": {"method": "bytespan"}, "min_count": 2},
        },
        "sizes": [300],
    }
    experiment = Experiment.model_validate(written)
    every, frequent = (SimpleNamespace(variant=name) for name in ("all", "frequent"))
    variants = Variants(experiment)
    assert (variants.min_count(every), variants.min_count(frequent)) == ([], ["--min-count", "5"])
    assert variants.recipe(every) == variants.recipe(frequent)
    assert "variants.spans.min_count: 'bytespan' reads no pre-token counts; remove this key" in check(experiment)
