"""What the map of the code says, and what docstrings lead to: folders and names are there, and imported as told."""

import re

import pytest

from tests.support.workflow.checkout import ROOT

SOURCE = ROOT / "src" / "tokbench"
FOLDERS = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
IMPORT = re.compile(r"^\s*(?:from|import) tokbench\.(\w+)", re.MULTILINE)
ROLE = re.compile(r":(?:mod|data|class|func|meth|attr):`~?tokbench\.([\w.]+)`")
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
    "leaderboard": {"corpus", "statistics"},
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


def defined_in(target: str) -> bool:
    """Whether the last name of a dotted path is defined where the path says, a module or what begins a line of one."""
    parts = target.split(".")
    for length in range(len(parts), 0, -1):
        base = SOURCE.joinpath(*parts[:length])
        places = [base / "__init__.py", *(base.with_suffix(suffix) for suffix in (".py", ".pyx", ".pyi"))]
        if there := [place for place in places if place.is_file()]:
            name = parts[-1]
            start = re.compile(rf"^\s*(?:.*?(?:def|class)\s+)?{name}\b", re.MULTILINE)
            return length == len(parts) or any(start.search(place.read_text(encoding="utf-8")) for place in there)
    return False


def test_docstrings_lead_to_what_is_there() -> None:
    modules = [path for path in SOURCE.rglob("*.py*") if path.suffix in (".py", ".pyx", ".pyi")]
    named = {target for path in modules for target in ROLE.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 100
    assert not {target for target in named if not defined_in(target)}
