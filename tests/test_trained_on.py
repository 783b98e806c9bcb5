"""What models were trained on: a row for each whose manifest tells it."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.small_report import altered, whole
from tokbench.errors import TokbenchError
from tokbench.report.layout import Table, layout
from tokbench.report.sections.models import models
from tokbench.tabulation.trained_on import TRAINED_ON, trained_on_table

READ = {"documents": 62, "text_bytes": 247052, "tokens": 81920, "sequences": 320, "batches": 40, "flops": 1.5e12}


def folder(root: Path, model: str, size: str, manifest: Any) -> Path:
    """A model's, with a manifest; none where that is None."""
    made = root / model / "bpe" / size
    made.mkdir(parents=True)
    if manifest is not None:
        (made / "manifest.json").write_text(json.dumps(manifest))
    return made


def test_what_manifests_tell_of_what_was_read(tmp_path: Path) -> None:
    by_phase = READ | {"first": READ, "second": READ}
    found = [
        folder(tmp_path, "n", "1024", {"loss": float("nan"), "settings": {"read": by_phase}}),
        folder(tmp_path, "m", "own", {"settings": {"read": READ | {"text_bytes": None}}}),
        folder(tmp_path, "m", "512", {"settings": {"read": {"tokens": 9, "batches": 2}}}),
    ]
    table = trained_on_table(found, {"bpe": 300})
    assert table.rows() == [
        ("bpe", 300, "m", 62, None, 81920, 320, 40, 0.0015),
        ("bpe", 512, "m", None, None, 9, None, 2, None),
        ("bpe", 1024, "n", 62, 247052, 81920, 320, 40, 0.0015),
    ]
    TRAINED_ON.check(table)


@pytest.mark.parametrize("old", [None, {}, {"settings": None}, {"settings": {"read": 3}}, {"settings": {"effort": {}}}])
def test_old_manifests_have_no_row(old: Any, tmp_path: Path) -> None:
    table = trained_on_table([folder(tmp_path, "m", "512", old)], {})
    TRAINED_ON.check(table)
    assert table.is_empty()


def test_a_number_of_another_type_is_named(tmp_path: Path) -> None:
    for size, key in enumerate(("tokens", "flops"), 512):
        wrong = folder(tmp_path, "m", str(size), {"settings": {"read": READ | {key: "many"}}})
        with pytest.raises(TokbenchError, match=rf"{size}/manifest\.json: a value of the wrong type"):
            trained_on_table([wrong], {})


def test_stands_folded_among_the_models() -> None:
    rows = {"variant": "bpe", "size": 512, "model": "tiny", "documents": 62, "text_bytes": None, "tokens": 81920}
    rows |= {"sequences": 320, "batches": 40, "petaflop": 0.000147}
    content = altered(whole(), trained_on=pl.DataFrame([rows], TRAINED_ON.schema))
    [told] = [one for one in models(content).exhibits if isinstance(one, Table) and one.name == "trained-on"]
    assert told.folded
    assert told.reasons[0, "text_bytes"] == TRAINED_ON["text_bytes"].empty
    assert [cell.text for cell in layout(told).rows[0]][5:] == ["81,920", "320", "40", "0.000147"]
