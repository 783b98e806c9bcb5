"""Sources as fingerprints read them: the data that they name, and their syntax, kept from run to run."""

import sys
from functools import cache
from pathlib import Path

import pytest

from tokbench.workflow import fingerprint as module
from tokbench.workflow import syntax
from tokbench.workflow.packaged import FILES as PACKAGED
from tokbench.workflow.syntax import Kept, Syntax, parsed

SOURCE = Path(module.__file__).parents[1]


@cache
def known(path: Path) -> Syntax:
    """What stands in a source; parsed once for all tests."""
    return parsed(path.read_bytes())


def test_all_data_are_named() -> None:
    sources = {
        folder: [known(path) for path in folder.glob("*.py")]
        for folder in {path.parent for path in SOURCE.rglob("*.py")}
    }
    for file in [path for path in SOURCE.rglob("*") if path.suffix in module.DATA and path.parent != PACKAGED]:
        folder = file.parent.parent if file.parent.name == "templates" else file.parent
        with_it = [module._data(source, folder) for source in sources[folder]]
        assert any(with_it) or file.name in module.SPELLED_OUT, file


def test_what_is_kept_is_what_would_be_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    sources = [path.read_bytes() for path in paths]
    first = Kept(tmp_path / "syntax.json")
    expected = [first.syntax(source) for source in sources]
    first.write()
    assert expected == [known(path) for path in paths]
    monkeypatch.setattr(syntax, "parsed", None)
    second = Kept(tmp_path / "syntax.json")
    assert [second.syntax(source) for source in sources] == expected
    with pytest.raises(TypeError):
        second.syntax(b"new = 1")


@pytest.mark.parametrize("content", ["", "[]", "[1, 2]", "{}", '["edition", {}]', "\xff"])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "syntax.json").write_text(content, encoding="utf-8")
    kept = Kept(tmp_path / "syntax.json")
    assert kept.syntax(b"import a.b").imports == ((None, 0, ("a.b",)),)
    kept.write()
    assert Kept(tmp_path / "syntax.json")._found


def test_other_ways_to_parse_are_another_edition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path / "syntax.json")
    kept.syntax(b"a = 1")
    kept.write()
    monkeypatch.setattr(sys, "version", "4.0")
    assert not Kept(tmp_path / "syntax.json")._found


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "syntax.json")
    kept.syntax(b"a = 1")
    kept.write()
