"""Checkpoints along the way: targets of their own, rows of a table, and a figure."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from tests.support.small_report import altered, whole
from tokbench.config.load import read
from tokbench.pretraining.budget import kept_at
from tokbench.pretraining.options import PRESETS, MptOptions
from tokbench.report.sections.convergence import convergences
from tokbench.tabulation.convergence import CONVERGENCE, convergence_table
from tokbench.workflow.downstream import checkpoint_flags
from tokbench.workflow.statistics import Along, all_along

ROOT = Path(__file__).parents[1]
SMALL = PRESETS["tiny"].recipe()


def test_shares_are_ascending_and_part_of_a_recipe_where_there_are_any() -> None:
    options = MptOptions.model_validate(SMALL | {"evaluate_at": (0.001, 0.25, 0.5)})
    assert kept_at(options, 30) == {"0.001": 1, "0.25": 8, "0.5": 15}
    assert options.recipe()["evaluate_at"] == [0.001, 0.25, 0.5]
    assert "evaluate_at" not in SMALL
    for wrong in ((0.5, 0.25), (0.5, 0.5), (1.0,), (0.0,)):
        with pytest.raises(ValidationError):
            MptOptions.model_validate(SMALL | {"evaluate_at": wrong})


def test_checkpoints_are_targets_of_their_own() -> None:
    changed = {"models": {"tiny": {"preset": "tiny", "evaluate_at": [0.25, 0.5]}}}
    plain, kept = read(ROOT / "config.yaml", {}), read(ROOT / "config.yaml", changed)
    assert all_along(plain) == []
    found = all_along(kept)
    assert len(found) == 2 * len({one[:3] + one[4:] for one in found})
    assert found[1] == Along(*found[0][:3], "0.5", found[0].suite)
    files = {"corpus": "c", "model": "models/tiny/bpe/400", "tokenizer": "t", "hub_cache": []}
    given = SimpleNamespace(**files, items=files.items)
    assert checkpoint_flags(SimpleNamespace(share="0.25"), given) == [
        *("--model", "models/tiny/bpe/400/checkpoints/0.25"),
        *("--tokenizer", "t"),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of two models, of which one kept two checkpoints."""
    for model, checkpoints in (
        ("m", {"0.25": {"batch": 2, "tokens": 50}, "0.5": {"batch": 4, "tokens": 99}}),
        ("n", {}),
    ):
        home = tmp_path / "models" / model / "bpe" / "400"
        home.mkdir(parents=True)
        settings = {"checkpoints": checkpoints, "read": {"batches": 8, "tokens": 200}}
        (home / "manifest.json").write_text(json.dumps({"settings": settings}))
        for share in (*checkpoints, None):
            place = Path(
                *(("convergence", model, "bpe", "400", share) if share else ("downstream", model, "bpe", "400"))
            )
            (tmp_path / place).mkdir(parents=True)
            tasks = {"a": {"accuracy": float(share or 1)}, "b": {"accuracy": None if share == "0.5" else 0.5}}
            head = {"model": model, "variant": "bpe", "size": 400, "suite": "s", "tasks": tasks}
            (tmp_path / place / "s.json").write_text(json.dumps(head | {"bits_per_byte": 3.0 if share else None}))
    return tmp_path


def test_a_row_for_each_checkpoint_and_the_model_itself(folder: Path) -> None:
    along, downstream = (sorted(folder.glob(f"{kind}/**/s.json")) for kind in ("convergence", "downstream"))
    models = sorted(folder.glob("models/*/*/*"))
    table = convergence_table(along, downstream, models, {})
    CONVERGENCE.check(table)
    assert table.drop("variant", "size", "suite").rows() == [
        ("m", 0.25, 2, 50, 0.375, 2, 3.0),
        ("m", 0.5, 4, 99, None, 2, 3.0),
        ("m", 1.0, 8, 200, 0.75, 2, None),
    ]
    assert convergence_table([], downstream, models, {}).is_empty()


def test_the_report_draws_what_there_is(folder: Path) -> None:
    found = (
        sorted(folder.glob(pattern)) for pattern in ("convergence/**/s.json", "downstream/**/s.json", "models/*/*/*")
    )
    table = convergence_table(*found, {})
    assert convergences(altered(whole(), convergence=None)) == []
    drawing, numbers = convergences(altered(whole(), convergence=table))
    assert drawing.caption.startswith("Convergence of m on s: ")
    assert len(drawing.draw().axes) == 2
    assert numbers.name == "convergence-in-numbers-m-s"
    assert numbers.frame["share"].to_list() == [0.25, 0.5, 1.0]
