"""What is kept and what is shared outlives failures: published tables, and a folder that two runs would write to."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import Tokbench
from tests.support.rules import RULES
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.atomic import atomic_folder
from tokbench.errors import TokbenchError
from tokbench.workflow.lock import hold

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a run to start."""


@pytest.mark.parametrize("name", RULES)
def test_declared_outputs_may_be_lost(name: str) -> None:
    """The workflow engine deletes the outputs of failed jobs, so none lies where something is kept."""
    declared = re.findall(r'"([^"]*/[^"]*)"', RULES[name][1]["output"])
    places = [path for path in declared if not path.startswith(("../report/", "figures/"))]
    assert places
    assert all(path.startswith(("<results>/", "<resources>/")) for path in places)
    assert "results=experiment.folder," in (ROOT / "Snakefile").read_text()


def test_failed_job_leaves_what_is_published(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, stand_in=True)
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    (tmp_path / "src" / "tokbench" / "__main__.py").write_text("raise SystemExit(1)")
    kept = tmp_path / "results" / "published" / "papers" / "README.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept")
    checkout.snakemake("--cores", "1", "published", status=1)
    checkout.close()
    assert kept.read_text() == "kept"
    assert list(kept.parent.iterdir()) == [kept]


def test_what_is_published_is_replaced_once_all_is_written(
    tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(folder: str, released: object) -> list[object]:
        with atomic_folder(folder, "published") as partial:
            (partial / "README.md").write_text("new")
        return []

    kept = tmp_path / "papers"
    with atomic_folder(kept, "published") as partial:
        (partial / "old.md").write_text("old")
    monkeypatch.setattr("tokbench.published.write.write_published", written)
    (tmp_path / "taken").write_text("no folder")
    command = ("published", "-o", tmp_path / "out", "--keep", kept)
    assert tokbench(*command, "--numbers", tmp_path / "taken" / "numbers.csv").status == 2
    assert [file.name for file in kept.glob("*.md")] == ["old.md"]
    assert tokbench(*command).status == 0
    assert [file.name for file in kept.glob("*.md")] == ["README.md"]


def test_a_folder_is_held_by_one_process_until_its_end(tmp_path: Path) -> None:
    """A process that was killed holds nothing, whatever it left behind."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        hold(tmp_path)
        os.write(tell, b".")
        signal.pause()
    os.read(told, 1)
    with pytest.raises(TokbenchError, match=rf"^{tmp_path}: process {child} on \S+, started in .*, is at work in"):
        hold(tmp_path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    hold(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TokbenchError, match=r"^results: .*/file/demo: Not a directory; name a folder"):
        hold(tmp_path / "file" / "demo")


def test_two_checkouts_and_one_folder_of_results(tmp_path: Path) -> None:
    """The second run ends with one line, and harms nothing."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (Checkout(tmp_path / name, stand_in=True) for name in ("one", "two"))
    (tmp_path / "one" / "src" / "tokbench" / "__main__.py").write_text("import time\ntime.sleep(600)")
    command = ("--cores", "1", "--until", "prepare", "--config", f"results={tmp_path / 'shared'}")
    configuration = ("--configfile", str(ROOT / "config.yaml"))
    folder = tmp_path / "shared" / "demo"

    first = one.start(*command, *configuration)
    end = time.monotonic() + PATIENCE
    while not list(folder.glob("logs/prepare/*")):
        assert first.poll() is None, first.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)
    printed = two.snakemake(*command, *configuration, status=1)
    two.close()
    assert f"\ntokbench: {folder}: process {first.pid} on " in printed
    assert "Traceback" not in printed
    assert first.poll() is None

    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
