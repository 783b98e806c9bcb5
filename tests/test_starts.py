"""Jobs that are forked end as those that a shell starts: the same files, logs and statuses."""

import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.workflow.checkout import Prepared
from tokbench.imported import NOTE
from tokbench.workflow.shell import shell_prefix
from tokbench.workflow.starts import Fork, Starts, understood

PREFIX = shell_prefix(apart=False).replace("{{", "{").replace("}}", "}")
TEXTS = ["one text", "another one", "the third\n"]

Start = Callable[[str], Any]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1), st.text(min_size=1))
def test_quoted_words_are_taken_as_a_shell_takes_them(words: list[str], log: str) -> None:
    call = f"tokbench {'  '.join(map(shlex.quote, words))} &> {shlex.quote(log)}"
    found = understood(call)
    assert found in (None, (words, log))
    if call.isascii():
        assert found == (words, log)


def test_stars_are_files_in_order_where_they_stand_outside_quotes(tmp_path: Path) -> None:
    for name in ("b.x", "a.x", ".c.x", "[d].y"):
        (tmp_path / name).touch()
    inside = shlex.quote(str(tmp_path))
    assert understood(f"tokbench f {inside}/*.x '{tmp_path}/*.x' {inside}/*.z &> log") == (
        ["f", f"{tmp_path}/a.x", f"{tmp_path}/b.x", f"{tmp_path}/*.x", f"{tmp_path}/*.z"],
        "log",
    )
    assert understood(f"tokbench f {inside}/'[d]'.* &> log") == (["f", f"{tmp_path}/[d].y"], "log")


@pytest.mark.parametrize(
    "call",
    [
        "tokbench f $HOME &> log",
        "tokbench f `id` &> log",
        'tokbench f "$(id)" &> log',
        "tokbench f; tokbench g &> log",
        "tokbench f | g &> log",
        "tokbench f ~ &> log",
        "tokbench f a?b &> log",
        "tokbench f > out 2> log",
        "A=1 tokbench f &> log",
        "tokbench f",
        "tokbench f\\ g &> log",
        "tokbench f {a,b} &> log",
        "python f &> log",
    ],
)
def test_all_else_is_the_shells(call: str) -> None:
    assert understood(call) is None


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts a call of ``tokbench`` in a folder with some texts."""
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate(TEXTS):
        Path(f"{number} 0.txt").write_text(text)
    starts = Starts(PREFIX)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    bash = {"shell": True, "executable": "/bin/bash"}
    return lambda call: starts.popen(f"{PREFIX} {call}", env=environment, **bash)


def counting(text: int, output: str) -> str:
    return f"tokbench count --scheme gpt2 -o '{output}' -- '{text} 0.txt' &> '{output}.log'"


def test_forks_write_what_processes_write(start: Start) -> None:
    first = start(counting(0, "0 a"))
    assert isinstance(first, subprocess.Popen)
    assert first.wait() == 0
    started = {text: start(counting(text, f"{text} b")) for text in range(len(TEXTS))}
    assert all(isinstance(fork, Fork) and fork.pid != os.getpid() for fork in started.values())
    assert [fork.wait() for fork in started.values()] == [0] * len(TEXTS)
    for text in range(len(TEXTS)):
        command = ["count", "--scheme", "gpt2", "-o", f"{text} c", "--", f"{text} 0.txt"]
        plain = subprocess.run([sys.executable, "-P", "-m", "tokbench", *command], capture_output=True, check=True)
        assert Path(f"{text} b").read_bytes() == Path(f"{text} c").read_bytes()
        assert Path(f"{text} b.log").read_bytes() == plain.stderr
    assert Path("0 a").read_bytes() == Path("0 b").read_bytes()


def test_a_fork_that_fails_tells_its_status_and_line(start: Start) -> None:
    assert start(counting(0, "0")).wait() == 0
    failing = start("tokbench count --scheme gpt3 -o x -- '0 0.txt' &> log")
    assert isinstance(failing, Fork)
    assert failing.wait() == 2
    [line] = Path("log").read_text().splitlines()
    assert "gpt3" in line
    assert start(counting(1, "1")).wait() == 0


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_fork_can_be_ended_and_others_go_on(start: Start, end: str) -> None:
    Path("words").write_text("a")
    Path("counts").write_text("1")
    long = Path("long").absolute()
    long.write_text(" ".join(map(str, range(3_000_000))))
    taking = "tokbench import_counts --scheme gpt2 -o {} -- {} counts &> log"
    assert start(taking.format("0", "words")).wait() == 0
    reading = start(taking.format("x", "long"))
    assert isinstance(reading, Fork)
    process, patience = psutil.Process(reading.pid), time.monotonic() + 60
    while str(long) not in [file.path for file in process.open_files()] and time.monotonic() < patience:
        time.sleep(0.001)
    getattr(reading, end)()
    assert reading.wait() == {"kill": -signal.SIGKILL, "terminate": -signal.SIGTERM}[end]
    assert not Path("x").exists()
    assert start(taking.format("1", "words")).wait() == 0


def test_a_fork_that_has_ended_is_a_process_until_it_is_waited_for(start: Start) -> None:
    """As a child is, whom Snakemake's benchmark looks for after it was started, however short the job was."""
    assert start(counting(0, "0")).wait() == 0
    for call, status in ((counting(1, "1"), 0), ("tokbench count --scheme gpt3 -o x -- '0 0.txt' &> log", 2)):
        fork = start(call)
        assert isinstance(fork, Fork)
        ready, _, _ = select.select([fork._pipe], [], [], 60)
        assert ready, "its status was told"
        assert psutil.Process(fork.pid).status() == psutil.STATUS_ZOMBIE
        assert fork.wait() == status
        end = time.monotonic() + 60
        while psutil.pid_exists(fork.pid) and time.monotonic() < end:
            time.sleep(0.01)
        assert not psutil.pid_exists(fork.pid)


def test_a_server_that_is_gone_leaves_the_job_to_the_shell(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    assert start(counting(0, "0")).wait() == 0
    monkeypatch.setattr("tokbench.workflow.starts.SERVER", "no_such_module")
    later = start(counting(1, "1"))
    assert isinstance(later, subprocess.Popen)
    assert later.wait() == 0
    assert Path("1").exists()


def test_a_job_does_not_need_the_note_of_its_imports(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of temporary files that cannot be written to costs speed and no job."""
    command = [sys.executable, "-P", "-m", "tokbench", "methods"]
    (tmp_path / "taken").mkdir()
    for note in (tmp_path / "absent" / "note", tmp_path / "taken"):
        noted = os.environ | {NOTE: str(note)}
        assert subprocess.run(command, env=noted, capture_output=True, check=True).stderr == b""
    assert not list(tmp_path.glob("taken.*"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    for text in (0, 0):
        job = start(counting(text, "counts"))
        assert isinstance(job, subprocess.Popen)
        assert job.wait() == 0


def test_what_reads_the_environment_while_it_is_imported_is_not_forked(start: Start) -> None:
    for _ in range(2):
        assert isinstance(failing := start("tokbench fetch --recipe x -o y &> log"), subprocess.Popen)
        assert failing.wait() == 2


def test_libraries_that_jobs_import_may_be_forked() -> None:
    """Else jobs of their commands would start anew each time, and nobody would notice."""
    code = """
import polars, pyarrow.parquet, safetensors.numpy, tokenizers
from tokbench.workflow.fork_server import may_be_forked
assert may_be_forked()
"""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_servers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    code = f"""
import os
from tokbench.workflow.starts import Fork, Starts
starts = Starts({PREFIX!r})
for output in "ab":
    call = {PREFIX!r} + f" tokbench count --scheme gpt2 -o {{output}} -- a.txt &> log"
    job = starts.popen(call, env=os.environ | {{"OMP_NUM_THREADS": "1"}}, shell=True, executable="/bin/bash")
    assert job.wait() == 0
assert isinstance(job, Fork)
[server] = [server for server in starts._servers.values()]
print(server._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    status = Path("/proc", ended.stdout.strip(), "status")
    for _ in range(100):
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the server is still there")


def test_every_shell_command_of_the_demonstration_is_understood(workflow: Prepared) -> None:
    """Else its jobs would start anew each time, and nobody would notice."""
    printed = workflow.run("-n", "--printshellcmds", "--cores", "1", "--forceall")
    calls = re.findall(r"^Shell command: (tokbench .*)$", printed, re.MULTILINE)
    assert len({call.split()[1] for call in calls}) > 15
    assert [call for call in calls if understood(call) is None] == []
