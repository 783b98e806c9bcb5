"""Changes that no test can notice, as they are explained: each stands where the sources say."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_explained_changes_are_of_lines_as_they_stand() -> None:
    explained = yaml.safe_load((ROOT / "tools" / "mutants.yaml").read_text(encoding="utf-8"))
    assert len(explained) > 30
    for one in explained:
        assert one.keys() == {"file", "old", "new", "why"}
        lines = [line.strip() for line in (ROOT / "src" / one["file"]).read_text(encoding="utf-8").splitlines()]
        assert one["old"] in lines, one
        assert one["old"] != one["new"], one
    assert len({(one["file"], one["old"], one["new"]) for one in explained}) == len(explained)
