"""What a neural byte language model needs is told before it is trained or applied, and is what was measured."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tokbench.byte_lm.options import PRESETS, ByteLmOptions
from tokbench.config.load import read
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards, shard_paths
from tokbench.model_memory import (
    BYTE_LM_BASE,
    NGRAMS_SCORED,
    byte_lm_flops_per_byte,
    byte_lm_parameters,
    byte_lm_scoring_memory,
    byte_lm_training_memory,
    seconds,
)
from tokbench.workflow.byte_lm import MEMORY, SCORING, ByteLms
from tokbench.workflow.resources import STARTUP

ROOT = Path(__file__).parents[1]
TINY = {"layers": 2, "hidden": 64, "feed_forward": 192, "heads": 4, "context": 256, "batch": 8}
WIDE = {"layers": 4, "hidden": 256, "feed_forward": 1024, "heads": 8, "context": 512, "batch": 8}
MEASURED = [
    (TINY, 89, 47),
    (TINY | {"batch": 32}, 216, 47),
    (TINY | {"batch": 32, "layers": 8}, 656, 48),
    (WIDE, 838, 184),
    (WIDE | {"microbatch": 2}, 378, 184),
]
"""A shape, and the MB that training it (three steps, a checkpoint after the second, float32 on a processor) and scoring
eight windows at a time took at their most, beside what they took when all was imported (``VmHWM`` less ``VmRSS``)."""


def options(shape: dict[str, int]) -> ByteLmOptions:
    few = {"steps": 3, "warmup_steps": 1, "decay_steps": 1, "stride": shape["context"], "score_batch": 8}
    return ByteLmOptions.model_validate({**few, "device": "cpu", **shape})


@pytest.mark.parametrize(("shape", "trained", "scored"), MEASURED)
def test_what_is_told_is_what_was_taken_and_not_much_more(shape: dict[str, int], trained: int, scored: int) -> None:
    chosen = options(shape)
    assert trained < byte_lm_training_memory(chosen, False) / 1e6 < 1.35 * trained + 80
    assert scored < byte_lm_scoring_memory(chosen, False) / 1e6 < 1.35 * scored + 80


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_counted(tied: bool) -> None:
    from tokbench.byte_lm.model import build

    chosen = options(TINY).model_copy(update={"tied_embeddings": tied})
    assert byte_lm_parameters(chosen) == build(chosen).num_parameters()


def test_arithmetic_is_that_of_the_model() -> None:
    """A training's is thrice that of what goes forwards, as PyTorch counts it; positions beside."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from tokbench.byte_lm.model import build

    chosen = options(WIDE)
    model = build(chosen)
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        model(input_ids=torch.zeros(1, chosen.context, dtype=torch.long))
    assert 3 * counted.get_total_flops() == pytest.approx(chosen.context * byte_lm_flops_per_byte(chosen), rel=1e-3)


def test_time_is_shared_among_threads_and_halves_have_it_short_on_a_gpu() -> None:
    assert seconds(1e12, "bf16", 4) == seconds(1e12, "fp32", 4) == seconds(1e12, "fp32", 1) / 4
    assert seconds(1e12, "bf16", None) < seconds(1e12, "fp32", None) < seconds(1e12, "fp32", 64)


def test_jobs_ask_for_what_their_models_need(tmp_path: Path) -> None:
    wildcards = SimpleNamespace(byte_lm="tiny")
    small = ByteLms(read(ROOT / "config.yaml", {}))
    assert [small.training_memory(wildcards, attempt) for attempt in (1, 2)] == [MEMORY, 2 * MEMORY]
    large = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "paper_57m"}}))
    paper = PRESETS["paper_57m"]
    assert isinstance(paper, ByteLmOptions)
    asked = large.training_memory(wildcards, 1) * 1e6
    assert 4e9 + BYTE_LM_BASE + 40 * byte_lm_parameters(paper) < asked < 1e10
    assert large.scoring_memory(wildcards, SimpleNamespace(model=tmp_path), 1) * 1e6 < asked


def test_scoring_ngrams_asks_by_their_number(tmp_path: Path) -> None:
    counted = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "ngram"}}))
    wildcards, given = SimpleNamespace(byte_lm="tiny"), SimpleNamespace(model=tmp_path)
    assert counted.training_memory(wildcards, 1) == counted.scoring_memory(wildcards, given, 1) == MEMORY
    with (tmp_path / "windows.npy").open("wb") as file:
        file.truncate(8 * 50_000_000)
    assert 12_000 < counted.scoring_memory(wildcards, given, 1) < 15_000


def shard(folder: Path, split: str, text: bytes, copies: int) -> None:
    [path] = shard_paths(folder, split, 1)
    path.parent.mkdir()
    with open_shards([path]) as add:
        for number in range(copies):
            add(Document(number, "", text))


@pytest.mark.parametrize(
    ("recipe", "gpus", "threads"),
    [
        ("ngram", 0, 1),
        ("tiny", 0, 1),
        ({"preset": "tiny", "cpu_threads": 6}, 0, 6),
        ("paper_57m", 1, 1),
        ({"preset": "tiny", "device": "cuda"}, 1, 1),
    ],
)
def test_only_neural_models_that_are_not_for_processors_ask_for_a_gpu(recipe: object, gpus: int, threads: int) -> None:
    asked = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": recipe}}))
    wildcards = SimpleNamespace(byte_lm="tiny")
    assert (asked.gpus(wildcards), asked.threads(wildcards)) == (gpus, threads)


def test_time_follows_from_the_model_and_the_text(tmp_path: Path) -> None:
    """Two days, and one for scoring, are left where neither tells it."""
    wildcards = SimpleNamespace(byte_lm="tiny", shard="0000")
    nothing = SimpleNamespace(corpus=tmp_path / "none")
    there = Inputs([str(tmp_path)], corpus=tmp_path)
    for split in ("byte_lm", "tokenizer"):
        shard(tmp_path, split, bytes(range(256)) * 4000, 10)
    small, large, counted = (
        ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": name}})) for name in ("tiny", "paper_57m", "ngram")
    )
    paper = PRESETS["paper_57m"]
    assert isinstance(paper, ByteLmOptions)
    assert byte_lm_flops_per_byte(paper) == pytest.approx(6 * byte_lm_parameters(paper) + 12 * 6 * 768 * 2048, rel=1e-3)
    hours = 50_000 * 128 * 2048 * byte_lm_flops_per_byte(paper) / 1e14 / 3600
    assert large.training_time(wildcards, there, 1) == pytest.approx(STARTUP + 90 * hours, abs=1)
    assert [small.training_time(wildcards, there, attempt) for attempt in (1, 2)] == [31, 62]
    assert counted.training_time(wildcards, Inputs([str(tmp_path / "none")]), 1) == 2880
    assert STARTUP <= counted.training_time(wildcards, there, 1) < STARTUP + 5
    for models in (small, large, counted):
        assert [models.scoring_time(wildcards, nothing, attempt) for attempt in (1, 2, 3)] == [SCORING, 2880, 2880]
    assert counted.scoring_time(wildcards, there, 1) == STARTUP + round(1.5 * 10 * 1_024_000 / NGRAMS_SCORED / 60)
    assert STARTUP < small.scoring_time(wildcards, there, 1) < STARTUP + 30
    (tmp_path / "tokenizer" / "0000.parquet").write_bytes(b"no shard")
    assert small.scoring_time(wildcards, there, 1) == SCORING


class Inputs(list[str]):
    """A job's inputs, by number and by name."""

    def __init__(self, files: list[str], **named: Path) -> None:
        super().__init__(files)
        self.__dict__ |= named
