"""The settings of the SLURM profile that stand there commented are valid once they are not."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.cli import parse_args

from tests.support.workflow.checkout import ROOT

PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"
SETTING = re.compile(r"^( *)# ([a-z_-]+:(?: .*)?)$")
RULES = {
    name
    for path in (ROOT / "rules").glob("*.smk")
    for name in re.findall(r"^rule (\w+):", path.read_text(), re.MULTILINE)
}
LINES = PROFILE.read_text(encoding="utf-8").splitlines()
COMMENTED = [number for number, line in enumerate(LINES) if SETTING.match(line)]
OF_SLURM = {"slurm_account", "slurm_partition", "qos", "constraint"}
"""What the executor takes as text."""


def uncommented(*numbers: int) -> str:
    """The profile with some of its comments as settings."""
    return "\n".join(SETTING.sub(r"\1\2", line) if number in numbers else line for number, line in enumerate(LINES))


def test_what_a_cluster_may_ask_for_stands_there() -> None:
    named = {SETTING.sub(r"\2", LINES[number]).partition(":")[0] for number in COMMENTED}
    assert {"slurm_account", "qos", "constraint", "gpu", "software-deployment-method"} <= named
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    assert settings["resources"]["mem_mb"] > 0
    assert settings["max-jobs-per-timespan"]


def test_who_takes_a_gpu_is_told_by_recipes() -> None:
    """The profile says where jobs of models go, and gives a GPU to none by itself."""
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))["set-resources"]
    assert {rule for rule, asked in settings.items() if asked.get("slurm_partition") == "gpu"} >= {"train_byte_lm"}
    assert not [rule for rule, asked in settings.items() if "gpu" in asked]


@pytest.mark.parametrize("number", COMMENTED, ids=[LINES[number].strip() for number in COMMENTED])
def test_a_commented_setting_is_valid(number: int, tmp_path: Path) -> None:
    """By itself: Snakemake takes it, for rules that there are, and it changes what is asked for."""
    (tmp_path / "config.yaml").write_text(uncommented(number), encoding="utf-8")
    plain, changed = (parse_args(["--profile", str(folder)])[1] for folder in (PROFILE.parent, tmp_path))
    assert changed.set_resources.keys() <= RULES
    before, after = (
        {**vars(given), "default_resources": told(given.default_resources), "set_resources": of_rules(given)}
        for given in (plain, changed)
    )
    assert {key for key in before if before[key] != after[key]} - {"profile"}
    for asked in (after["default_resources"], *after["set_resources"].values()):
        assert all(re.fullmatch(r"'?\w+'?", asked[key]) for key in OF_SLURM & asked.keys())


def told(resources: object) -> dict[str, str]:
    """Resources as they are written."""
    return {name: str(resource.raw) for name, resource in dict(resources).items()}  # type: ignore[call-overload]


def of_rules(given: object) -> dict[str, dict[str, str]]:
    return {rule: told(resources) for rule, resources in given.set_resources.items()}  # type: ignore[attr-defined]
