"""Outputs from the future are dated now, in their order; others keep their dates."""

import os
import time
from pathlib import Path

import pytest

from tokbench.workflow.clock import TIMESTAMP, settle

HOUR = 3600


def dated(path: Path, when: float) -> str:
    os.utime(path, (when, when))
    return str(path)


def test_order_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = time.time()
    (tmp_path / "d").mkdir()
    for name in ("a", "b", "c", "past", f"d/{TIMESTAMP}"):
        (tmp_path / name).touch()
    outputs = [
        dated(tmp_path / "c", now + 3 * HOUR),
        dated(tmp_path / "a", now + HOUR),
        dated(tmp_path / "b", now + HOUR),
        dated(tmp_path / "past", now - HOUR),
        str(tmp_path / "missing"),
    ]
    dated(tmp_path / "d" / TIMESTAMP, now + 2 * HOUR)
    outputs.append(dated(tmp_path / "d", now - 2 * HOUR))
    settle("results/x", outputs)
    a, b, c, d, past = ((tmp_path / name).stat().st_mtime_ns for name in ("a", "b", "c", f"d/{TIMESTAMP}", "past"))
    assert past / 1e9 == pytest.approx(now - HOUR)
    assert a == b < d < c < time.time_ns()
    assert c / 1e9 == pytest.approx(time.time(), abs=60)
    assert capsys.readouterr().err == (
        "tokbench: results/x: 4 outputs bore dates of the future, as where a clock is set back; they are dated now\n"
    )


def test_nothing_is_said_or_done_of_the_present(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").touch()
    before = (tmp_path / "a").stat().st_mtime_ns
    settle("results/x", [str(tmp_path / "a")])
    assert (tmp_path / "a").stat().st_mtime_ns == before
    assert capsys.readouterr().err == ""
