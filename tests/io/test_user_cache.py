"""Folders of the user's cache."""

import os
from pathlib import Path

import pytest

from tokbench.io.user_cache import remove_oldest, user_cache


@pytest.mark.parametrize("relative", [False, True])
def test_place_of_the_cache(relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is ignored, as the standard of these folders says."""
    monkeypatch.setenv("XDG_CACHE_HOME", "caches" if relative else str(tmp_path / "caches"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    place = tmp_path / "home" / ".cache" if relative else tmp_path / "caches"
    assert user_cache("tokenizers") == place / "tokbench" / "tokenizers"


def test_the_last_files_and_folders_stay(tmp_path: Path) -> None:
    for date, name in enumerate(("file", "folder", "other", "last")):
        (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (date, date))
    remove_oldest(tmp_path, 3)
    assert {path.name for path in tmp_path.iterdir()} == {"folder", "other", "last"}
    remove_oldest(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
