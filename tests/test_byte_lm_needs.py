"""What a neural byte language model needs is told before it is trained or applied, and is what was measured."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tokbench.byte_lm.needs import BASE, parameters, scoring_room, training_room
from tokbench.byte_lm.options import PRESETS, ByteLmOptions
from tokbench.config.load import read
from tokbench.workflow.byte_lm import MEMORY, ByteLms

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
    assert trained < training_room(chosen, False) / 1e6 < 1.35 * trained + 80
    assert scored < scoring_room(chosen, False) / 1e6 < 1.35 * scored + 80


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_counted(tied: bool) -> None:
    from tokbench.byte_lm.model import build

    chosen = options(TINY).model_copy(update={"tied_embeddings": tied})
    assert parameters(chosen) == build(chosen).num_parameters()


def test_jobs_ask_for_what_their_models_need(tmp_path: Path) -> None:
    wildcards = SimpleNamespace(byte_lm="tiny")
    small = ByteLms(read(ROOT / "config.yaml", {}))
    assert [small.training_memory(wildcards, attempt) for attempt in (1, 2)] == [MEMORY, 2 * MEMORY]
    large = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "paper_57m"}}))
    paper = PRESETS["paper_57m"]
    assert isinstance(paper, ByteLmOptions)
    asked = large.training_memory(wildcards, 1) * 1e6
    assert 4e9 + BASE + 40 * parameters(paper) < asked < 1e10
    assert large.scoring_memory(wildcards, SimpleNamespace(model=tmp_path), 1) * 1e6 < asked


def test_scoring_ngrams_asks_by_their_number(tmp_path: Path) -> None:
    counted = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "ngram"}}))
    wildcards, given = SimpleNamespace(byte_lm="tiny"), SimpleNamespace(model=tmp_path)
    assert counted.training_memory(wildcards, 1) == counted.scoring_memory(wildcards, given, 1) == MEMORY
    with (tmp_path / "windows.npy").open("wb") as file:
        file.truncate(8 * 50_000_000)
    assert 12_000 < counted.scoring_memory(wildcards, given, 1) < 15_000
