"""What the map of the code says: every folder is on it, and folders import each other as it tells."""

import re

import pytest

from tests.workflow.checkout import ROOT

SOURCE = ROOT / "src" / "tokbench"
FOLDERS = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
IMPORT = re.compile(r"^\s*(?:from|import) tokbench\.(\w+)", re.MULTILINE)
PHASES = ("pretokenization", "construction", "segmentation")
STAGES: dict[str, set[str]] = {
    "corpus": set(),
    "counting": set(),
    "byte_lm": set(),
    "optimum": set(),
    "intrinsic": {"corpus"},
    "pretraining": {"corpus"},
    "downstream": {"corpus"},
    "translation": {"corpus"},
    "tabulation": {"intrinsic"},
    "statistics": set(),
    "examples": {"corpus"},
    "report": {"tabulation", "statistics", "examples", "published"},
    "leaderboard": {"corpus"},
    "published": {"tabulation", "statistics", "report"},
}
"""The stages, and which others each imports."""


def imported(folder: str) -> set[str]:
    """Folders that the modules of one import."""
    modules = [path for path in (SOURCE / folder).rglob("*.py*") if path.suffix in (".py", ".pyx")]
    texts = [path.read_text(encoding="utf-8") for path in modules]
    return {name for text in texts for name in IMPORT.findall(text)} & FOLDERS - {folder}


def test_every_folder_is_on_the_map() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = page.partition("## Where the rooms are")[2].partition("## Add a method")[0]
    assert not {name for name in FOLDERS if f"{name}/`" not in told}


@pytest.mark.parametrize("stage", STAGES)
def test_stages_import_each_other_as_told(stage: str) -> None:
    assert imported(stage) & STAGES.keys() == STAGES[stage]
    assert not imported(stage) & {"commands", "workflow"}


def test_phases_import_stages_as_told() -> None:
    found = {phase: imported(phase) & STAGES.keys() for phase in PHASES}
    assert found == {"pretokenization": set(), "construction": {"counting", "optimum"}, "segmentation": set()}
    assert not imported("kernels")
