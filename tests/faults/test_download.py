"""A download that is interrupted leaves no file that could be taken for the whole, and is begun again."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.faults.trial import Run, by_itself

pytestmark = by_itself

ROWS = 5000
HUB = """
import sys, time
import datasets

def rows():
    for number in range({rows}):
        if number == 3000:
            {fault}
        yield {{"text": f"row {{number}}"}}

datasets.load_dataset = lambda *arguments, **options: rows()
from tokbench.commands.main import main
main(sys.argv[1:])
"""
"""The command line before a hub that has a fault in the middle of a data set."""
SOURCE = {"type": "hub", "dataset": "some/one", "revision": "0" * 40}


def fetch(output: Path, fault: str) -> Run:
    terminal = output.with_name("terminal.txt")
    code = HUB.format(rows=ROWS, fault=fault)
    with terminal.open("wb") as stream:
        command = [sys.executable, "-c", code, "fetch", "--recipe", json.dumps(SOURCE), "-o", str(output)]
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
    return Run(process, terminal, 0.0)


def test_killed(tmp_path: Path) -> None:
    output = tmp_path / "hub.parquet"
    run = fetch(output, "time.sleep(600)")
    assert run.until(lambda: any(file.stat().st_size for file in tmp_path.glob(".hub*"))), run.printed()
    run.kill()
    assert not output.exists()
    whole(output)


def test_cut_off(tmp_path: Path) -> None:
    output = tmp_path / "hub.parquet"
    printed = fetch(output, "raise ConnectionError('connection reset by peer')").ended(2)
    assert printed == "tokbench: some/one at 00000000: cannot be fetched (connection reset by peer)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["terminal.txt"]
    whole(output)


def whole(output: Path) -> None:
    fetch(output, "pass").ended()
    assert pl.read_parquet(output)["text"].to_list() == [f"row {number}".encode() for number in range(ROWS)]
    assert sorted(path.name for path in output.parent.iterdir()) == [output.name, "terminal.txt"]
