"""Standard streams that are closed, or whose reader has ended: no command calls that a bug."""

import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.commands.declaration import declarations

CALL = ("-P", "-m", "tokbench")
HELP = """
import os, sys
from tokbench.commands.declaration import declarations
from tokbench.commands.main import main
statuses = {}
for name in [None, *declarations()]:
    child = os.fork()
    if not child:
        sys.argv = ["tokbench", *([name] if name else []), "--help"]
        try:
            main()
        except SystemExit as end:
            os._exit(end.code or 0)
        os._exit(0)
    statuses[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
os.write(2, repr(statuses).encode())
"""


def run(redirection: str, *words: object, code: str = "") -> tuple[int, str]:
    """Run the command line, or Python code, in a shell with a redirection; return its status and its last line."""
    call = [sys.executable, "-c", code] if code else [sys.executable, *CALL, *map(str, words)]
    done = subprocess.run(["sh", "-c", f'"$@" {redirection}', "sh", *call], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def test_every_command_without_standard_output() -> None:
    """Each prints its help."""
    status, said = run(">&-", code=HELP)
    assert status == 0
    lines = said.splitlines()
    told = "tokbench: standard input or output is closed; redirect it to a file, or to /dev/null"
    assert lines[:-1] == [told] * (1 + len(declarations()))
    assert eval(lines[-1]) == dict.fromkeys([None, *declarations()], 2)


@pytest.mark.parametrize(
    ("redirection", "words", "expected"),
    [
        (">&-", ("encode", "@tokenizer", "@plain"), 2),
        (">&-", ("encode", "@tokenizer", "@plain", "-o", "@output"), 0),
        (">&-", ("decode", "@tokenizer", "@ids"), 2),
        ("<&-", ("encode", "@tokenizer", "-"), 2),
        ("2>&-", ("encode", "@tokenizer", "@nowhere"), 2),
        ("| true", ("encode", "@tokenizer", "@long"), 0),
    ],
)
def test_streams_that_are_closed(
    redirection: str, words: tuple[str, ...], expected: int, tokenizer: Path, plain: Path, tmp_path: Path
) -> None:
    (tmp_path / "ids").write_text("5 6\n")
    (tmp_path / "long").write_text("the cat\n" * 100_000)
    places = {"@tokenizer": tokenizer, "@plain": plain}
    named = [str(places.get(word, tmp_path / word[1:])) if word[0] == "@" else word for word in words]
    status, said = run(redirection, *named)
    assert status == expected, said
    assert len(said.splitlines()) == (expected == 2 and redirection != "2>&-")
    assert "a bug in Tokbench" not in said
    if "-o" in words:
        assert (tmp_path / "output").read_text().split()


def test_a_reader_that_ends(tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("the cat\n" * 100_000)
    with subprocess.Popen(
        [sys.executable, *CALL, "encode", tokenizer, tmp_path / "long"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141
