"""The outermost handler: uncaught errors end in one line and a status, and bugs of ours are named.

Running out of memory ends in one line, if Python can still write it.
"""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from tests.conftest import Tokbench
from tokbench.commands import main
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.runtime import exit_status, memory_limit
from tokbench.runtime.exit_status import BROKEN_PIPE, INTERNAL_ERROR, INTERRUPTED, REJECTED, STATUS, shortage_in


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> Callable[[BaseException], Any]:
    """Runs a command that raises this."""

    def run(error: BaseException) -> Any:
        def action() -> None:
            raise error

        command = click.Command("schema", callback=action)
        monkeypatch.setattr(main.Commands, "get_command", lambda self, context, name: command)
        return tokbench("schema")

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (TokbenchError("a: wrong"), REJECTED, "tokbench: a: wrong\n"),
        (OSError(28, "No space left on device", "b"), REJECTED, "tokbench: b: No space left on device\n"),
        (OSError("magic bytes"), REJECTED, "tokbench: magic bytes\n"),
        (FileNotFoundError("no c"), REJECTED, "tokbench: no c\n"),
        (KeyboardInterrupt(), INTERRUPTED, "tokbench: interrupted\n"),
        (
            ModuleNotFoundError("No module named 'lm_eval'", name="lm_eval"),
            REJECTED,
            "tokbench: the package 'lm_eval' is not installed; install 'tokbench[language-models]', "
            "or run .venv-models/bin/tokbench in a checkout that has it\n",
        ),
    ],
)
def test_others(error: BaseException, status: int, line: str, fails: Any) -> None:
    outcome = fails(error)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (status, b"", line)


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError(), IndexError(3), ZeroDivisionError(), TypeError("t")])
def test_faults_of_our_own(error: Exception, fails: Any) -> None:
    outcome = fails(error)
    assert outcome.status == INTERNAL_ERROR
    [line] = outcome.stderr.splitlines()
    assert line.startswith(f"tokbench: a bug in Tokbench ({type(error).__name__}: ")
    assert line.endswith("please report it with the command and TOKBENCH_DEBUG=1's output")


def test_the_traceback_is_shown_when_asked_for(fails: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKBENCH_DEBUG", "1")
    outcome = fails(KeyError("x"))
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert outcome.stderr.splitlines()[-1].startswith("tokbench: a bug in Tokbench (KeyError: 'x' in ")


def test_closed_output_pipe_is_silent() -> None:
    """Standard output is a pipe that nobody reads: nothing is said, neither now nor when the interpreter ends."""
    end, start = os.pipe()
    os.close(end)
    command = [sys.executable, "-m", "tokbench.commands.main", "--help"]
    ended = subprocess.run(command, stdout=start, stderr=subprocess.PIPE, check=False)
    os.close(start)
    assert (ended.returncode, ended.stderr) == (BROKEN_PIPE, b"")


def raised(code: str) -> BaseException:
    try:
        exec(code, {"TokbenchError": TokbenchError})
    except BaseException as error:
        return error
    raise AssertionError(code)


@pytest.mark.parametrize(
    "code",
    [
        "raise MemoryError",
        "import numpy; numpy.empty(1 << 50)",
        "import pyarrow; pyarrow.allocate_buffer(1 << 60)",
        "raise OSError(12, 'Cannot allocate memory')",
        "try: raise MemoryError\nexcept MemoryError: raise TokbenchError('damaged; make it again') from None",
        "try: raise MemoryError\nexcept MemoryError as error: raise TokbenchError('damaged') from error",
        "try: raise OSError(12, '')\nexcept OSError: raise ImportError('ask for advice')",
    ],
)
def test_a_shortage(code: str) -> None:
    assert shortage_in(raised(code)) is not None


@pytest.mark.parametrize(
    "code",
    [
        "raise TokbenchError('out of memory.txt: no such file')",
        "raise OSError(28, 'No space left on device')",
        "raise OSError(2, 'cannot allocate memory', 'cannot allocate memory')",
        "raise KeyError('not enough memory')",
        "raise ImportError('no module of that name')",
        "raise RuntimeError('damaged')",
        "raise Exception('too short escape sequence')",
    ],
)
def test_no_shortage(code: str) -> None:
    assert shortage_in(raised(code)) is None


def test_resident_memory_is_reported_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the most that has been, which systems tell in other units."""
    now = memory_limit.resident_bytes()

    def missing(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(memory_limit, "open", missing, raising=False)
    most = memory_limit.resident_bytes()
    assert 0.99 * now < most < 1e12
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory_limit.resident_bytes() == most // 1024


def test_a_pattern_without_room_is_not_rejected() -> None:
    """The library's answer to a pattern is none where memory ended; that a file has no export would be a lie."""
    code = """
        import os, resource, tokenizers
        from tokbench.adapters.export_hugging_face import splits_of
        from tokbench.pretokenization import pretokenization_of
        scheme = pretokenization_of("gpt2")
        def fail(pattern): raise Exception("internal parser error (bug)")
        tokenizers.Regex = fail
        assert splits_of(scheme).startswith("Hugging Face's engine does not take the pattern of 'gpt2'")
        size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20),) * 2)
        try: splits_of(scheme)
        except Exception as error: assert "(bug)" in str(error)
        else: raise AssertionError("taken for an answer")
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_memory_error_line_names_the_task_and_remedy(tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> None:
        exit_status.describe_task("try", "use fewer --threads")
        np.empty(1 << 40, np.float64)

    command = click.Command("build", callback=build)
    monkeypatch.setattr(main.Commands, "get_command", lambda self, context, name: command)
    outcome = tokbench("build")
    assert (outcome.status, outcome.stderr) == (
        STATUS,
        "tokbench: not enough memory to try (Unable to allocate 8.00 TiB for an array with shape (1099511627776,) and "
        "data type float64); allow it more, or use fewer --threads\n",
    )


def test_scipy_is_loaded_in_one_place() -> None:
    sources = Path(exit_status.__file__).parents[1]
    found = [
        str(path.relative_to(sources))
        for path in sources.rglob("*.py")
        if "import scipy" in (text := path.read_text()) or "from scipy" in text
    ]
    assert found == ["statistics/significance/distributions.py"]


READ = """
import sys
import textwrap
import pyarrow.parquet
from pathlib import Path
from tokbench.candidates import running_text, scored_text
from tokbench.corpus.documents import read_shard
from tokbench.pretokens import PretokenCounts
def threads():
    return len(list(Path("/proc/self/task").iterdir()))
before = threads()
PretokenCounts.read(sys.argv[1])
made = scored_text.read_scores([sys.argv[2]], "gpt2")
read = [*made.documents("entropy"), *made.signals("entropy"), *read_shard(sys.argv[3])]
read += running_text.read_documents([sys.argv[3]], "gpt2").texts()
assert len(read) > 500
print(threads() - before)
"""


def test_tables_are_read_without_threads_of_the_library(
    tmp_path: Path, counts: PretokenCounts, scores: Path, tokbench: Tokbench
) -> None:
    counts.write(tmp_path / "counts.parquet")
    (tmp_path / "text.txt").write_text("a line\n" * 1000)
    recipe = {"source": {"type": "text", "path": str(tmp_path / "text.txt"), "documents": "line"}}
    tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus")
    files = [tmp_path / "counts.parquet", scores, tmp_path / "corpus" / "tokenizer" / "0000.parquet"]
    command = [sys.executable, "-c", READ, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "0\n", done.stderr
