"""benchmarks/gpu/recipes: its arithmetic, the search for microbatches, and how it shares the time."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gpu.microbatches import largest
from benchmarks.gpu.recipe_rows import (
    COLUMNS,
    KILLED,
    PLAN,
    RESUMED,
    full_training,
    markdown,
    recipe_speed,
    resumption,
    row_of,
    thinned,
)
from benchmarks.gpu.recipe_runs import Window, curve_of, reason_of, shortened
from benchmarks.gpu.recipes import START, share
from benchmarks.gpu.tables import write
from tokbench.models.byte_lm.options import ByteLmOptions
from tokbench.models.pretraining.options import PRESETS, ModelOptions

RUNS = {run.name: run for run in PLAN}


@settings(max_examples=50, deadline=None)
@given(limit=st.integers(0, 300), first=st.integers(1, 64), most=st.integers(1, 300))
def test_the_largest_number_that_fits_to_an_eighth(limit: int, first: int, most: int) -> None:
    asked: list[int] = []

    def fits(size: int) -> bool:
        asked.append(size)
        return size <= limit

    found = largest(fits, first, most)
    if limit == 0:
        assert found is None
    elif limit < min(first, most):
        assert found is not None
        assert found <= limit < 2 * found + 1
    else:
        exact = min(limit, most)
        assert found is not None
        assert found <= exact <= found + max(1, found // 8)
    assert len(asked) <= 16
    assert all(1 <= size <= most for size in asked)


def test_the_window_begins_after_the_warm_up_and_separates_updates() -> None:
    now = [0.0]
    window = Window(10, lambda: now[0], warm_seconds=2.0)
    for _ in range(3):
        now[0] += 1.0
        window.add_pass(4)
    assert window.is_open
    assert window.measures()["tokens_per_second"] is None
    for _ in range(5):
        now[0] += 1.0
        window.add_pass(4)
        now[0] += 0.25
        window.add_update(0.25)
    measured = window.measures()
    assert measured["tokens"] == 200
    assert measured["seconds"] == 6.25
    assert measured["update_seconds"] == 0.25
    assert measured["tokens_per_second"] == 32
    assert measured["pass_tokens_per_second"] == 40
    assert recipe_speed(measured, 400) == pytest.approx(400 / 10.25)
    assert recipe_speed({}, 400) is None


def test_days_of_a_full_training() -> None:
    """A PFLOP/s at half of it needs 20 days for 1e12 tokens of 0.864 GFLOP each."""
    assert full_training(1e12, 0.864e9, 0.5, 1000.0) == pytest.approx(20)


def test_later_trainings_get_the_same_part_of_their_plan() -> None:
    runs = [RUNS["mpt_350m"], RUNS["mpt_1_3b"]]
    planned = sum(run.seconds for run in runs)
    assert share(runs[0], runs[1:], planned + 2 * START) == runs[0].seconds
    assert share(runs[0], runs[1:], planned / 2 + 2 * START) == runs[0].seconds / 2
    assert share(runs[0], runs[1:], 0.0) == pytest.approx(runs[0].seconds / 10)


def test_the_plan_has_every_preset_of_a_paper_and_changes_only_batches_and_warm_up() -> None:
    assert {run.preset for run in PLAN} == {"paper_57m", "mpt_350m", "mpt_1_3b", "mpt_2_4b", "greedtok_1b"}
    assert {name for run in PLAN for name in run.changes} == {"batch", "warmup_batches", "checkpoint_every"}
    for run in PLAN:
        recipe = run.recipe(run.changes)
        if isinstance(recipe, ModelOptions):
            assert recipe.model_copy(update={"batch": 1024, **_kept(run.preset)}) == PRESETS[run.preset]
    assert RUNS[KILLED].folder == RUNS[RESUMED].folder
    assert RUNS[KILLED].changes == RUNS[RESUMED].changes


def _kept(preset: str) -> dict[str, object]:
    recipe = PRESETS[preset]
    return {"warmup_batches": recipe.warmup_batches, "checkpoint_every": recipe.checkpoint_every}


def test_rows_of_a_training_and_of_one_without_time(tmp_path: Path) -> None:
    machine = {"vocabularies": {"mpt_350m": 40960}, "device": "NVIDIA H200", "peak_tflops": 989.4}
    run = RUNS["mpt_350m"]
    assert row_of(run, {}, machine, tmp_path)["failed"] == "no time was left for it"
    measured = {"tokens": 100, "seconds": 2.0, "pass_tokens_per_second": 200_000.0, "update_seconds": 1.0}
    write(tmp_path / "rows" / "mpt_350m.json", measured)
    write(tmp_path / "search.json", {"mpt_350m": {"largest_microbatch": 40, "trials": []}})
    (tmp_path / "runs" / "mpt_350m" / "checkpoints").mkdir(parents=True)
    curve = "batch,tokens,loss,learning_rate,seconds\n1,1,9.5,0,1\n2,2,9.25,0,2\n3,3"
    (tmp_path / "runs" / "mpt_350m" / "checkpoints" / "curve.csv").write_text(curve)
    row = row_of(run, {}, machine, tmp_path)
    assert list(row) == list(COLUMNS)
    assert row["parameters"] == 344_048_640
    assert row["largest_microbatch"] == 40
    assert (row["first_loss"], row["last_loss"]) == (9.5, 9.25)
    batch = 1024 * 2048
    assert row["recipe_tokens_per_second"] == pytest.approx(batch / (batch / 200_000 + 1))
    assert row["h100_gpu_days"] == pytest.approx(100_000 * (batch / 200_000 + 1) / 86400)
    assert row["a100_x8_days"] == pytest.approx(row["h100_gpu_days"] * 989.4 / 312 / 8)
    assert "| mpt_350m | 344,048,640 |" in markdown([row])


def test_a_resumed_curve_is_compared_with_the_killed_one(tmp_path: Path) -> None:
    assert resumption(tmp_path) == {}
    for folder, losses in ((f"{KILLED}", [9.0, 8.0, 7.0]), ("killed/checkpoints", [9.0, 8.0, 7.5, 6.0])):
        path = tmp_path / "runs" / folder
        path.mkdir(parents=True)
        lines = [f"{batch},{loss}" for batch, loss in enumerate(losses, 1)]
        (path / "curve.csv").write_text("\n".join(["batch,loss", *lines, ""]))
    write(tmp_path / "rows" / f"{RESUMED}.json", {"resumed_from": 2})
    assert resumption(tmp_path) == {
        "killed_after": 3,
        "resumed_from": 2,
        "batches": 4,
        "repeated": 1,
        "largest_difference": 0.5,
    }
    assert json.loads(json.dumps(curve_of(tmp_path / "runs" / "killed")))[-1] == {"batch": "4", "loss": "6.0"}


def test_a_long_curve_is_thinned() -> None:
    curve = [{"batch": str(batch), "loss": "1"} for batch in range(1, 101)]
    assert len(thinned(curve[:99])) == 99
    assert [row["batch"] for row in thinned(curve)] == [str(batch) for batch in range(10, 101, 10)]


def test_a_shortened_byte_model_keeps_the_rest_of_its_recipe() -> None:
    recipe = ByteLmOptions(microbatch=32)
    short = shortened(recipe, 80)
    assert (short.steps, short.warmup_steps, short.decay_steps, short.checkpoint_every) == (80, 20, 10, 80)
    kept = {"steps": 50_000, "warmup_steps": 2_000, "decay_steps": 4_000, "checkpoint_every": 2_000}
    assert short.model_copy(update=kept) == recipe


def test_memory_that_is_not_there_is_a_reason() -> None:
    error = type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 2.50 GiB")
    assert reason_of(error) == "out of memory"
    assert reason_of(ValueError("one\ntwo")) == "ValueError: one"
