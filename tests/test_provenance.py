"""Provenance: the commit in a manifest is that of our own source, or there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tokbench import provenance

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

SOURCE = "src/tokbench/provenance.py"


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    asked = ["git", "-C", str(folder), *named, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def revision(file: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What is told of a package whose source lies there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    monkeypatch.setattr(provenance, "__file__", str(file))
    return provenance._revision()


def test_memory_is_told_in_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1_600_000}.__getitem__)
    assert provenance.provenance.__wrapped__()["hardware"]["memory_gib"] == 6.1


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's repository with a commit."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "pyproject.toml").touch()
    git(folder, "add", "pyproject.toml")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@pytest.mark.parametrize(
    "place", [".venv/lib/python3.11/site-packages/tokbench/provenance.py", "vendored/" + SOURCE, SOURCE]
)
def test_the_commit_of_another_repository_is_not_ours(
    place: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed, vendored, or lying there untracked."""
    assert revision(repository / place, monkeypatch) is None


def test_the_commit_of_our_own_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = repository / SOURCE
    assert revision(file, monkeypatch) is None
    git(repository, "add", SOURCE)
    git(repository, "commit", "--quiet", "-m", "second")
    head = git(repository, "rev-parse", "HEAD")
    assert provenance._revision() == head
    file.write_text("changed")
    assert provenance._revision() == f"{head}+"
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert provenance._revision() == f"{head}+"


def test_no_commit_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert revision(tmp_path / SOURCE, monkeypatch) is None
