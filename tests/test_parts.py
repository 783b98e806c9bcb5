"""A machine without the optional parts: a run that needs them ends before its first job."""

from pathlib import Path

import pytest

from tests.support.workflow.checkout import ROOT
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.workflow import parts
from tokbench.workflow.parts import check_parts


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "find_spec", lambda package: None if package in ("torch", "lm_eval") else object())


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("stage", "missing"), [("pretrain", "torch"), ("evaluate", "lm_eval, torch"), ("score_bytes", "torch")]
)
def test_a_stage_without_its_packages(stage: str, missing: str) -> None:
    with pytest.raises(TokbenchError, match=f"^{stage}: not installed here: {missing}; install 'tokbench\\["):
        check_parts(read(ROOT / "config.yaml", {}), {"build", stage})


@pytest.mark.usefixtures("bare")
def test_stages_that_do_without(tmp_path: Path) -> None:
    text = (ROOT / "config.yaml").read_text()
    (tmp_path / "ngrams.yaml").write_text(text.replace("tiny: tiny", "tiny: {kind: ngram}"))
    check_parts(read(ROOT / "config.yaml", {}), {"build", "measure", "report"})
    check_parts(read(tmp_path / "ngrams.yaml", {}), {"train_byte_lm", "score_bytes"})


def test_all_parts_are_here() -> None:
    check_parts(read(ROOT / "config.yaml", {}), parts.NEEDED.keys())
