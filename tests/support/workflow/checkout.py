"""A copy of the workflow and its sources in a folder of its own: tests edit it, run it and kill it."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from multiprocessing.connection import Client
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[3]
PARTS = ("Snakefile", "rules", "envs", "profiles", "report", "src")
UNUSED = shutil.ignore_patterns("*.c", "*.cpp", "*.egg-info")
"""Files that no copy needs; compiled Python files are copied with their dates."""
STAND_IN = """# Stands in for tokbench where only the plan matters: leaves its command line where the output is wanted.
import json
import sys
import time
from pathlib import Path

from tokbench.io.job_record import comment_of_job, current_job, job_metadata


def leave(path, text):
    if path.suffix == ".json":
        path.write_text(json.dumps({**current_job(), "command": text}))
    elif path.suffix == ".parquet":
        import polars

        polars.DataFrame({"command": text}).write_parquet(path, metadata=job_metadata())
    elif path.suffix in (".html", ".bib", ".js"):
        path.write_text(text + comment_of_job(path.suffix))
    elif path.suffix == ".csv":
        path.write_text(text)
    else:
        path.mkdir(parents=True, exist_ok=True)
        (path / "command").write_text(text)
        (path / ".tokbench.json").write_text(json.dumps({**current_job(), "date": time.time_ns()}))


arguments = Path(sys.argv[1][1:]).read_text().removesuffix("\\0").split("\\0")
FURTHER = {"pack": "--token-counts", "count_tokens": "--speed", "measure_resource": "--by-word"}
FURTHER |= {"leaderboard": "--table", "report": "--own-text"}
output = Path(arguments[arguments.index("--result" if "--result" in arguments else "-o") + 1])
if FURTHER.get(arguments[0]) in arguments:
    leave(Path(arguments[arguments.index(FURTHER[arguments[0]]) + 1]), "further output")
leave(output, "\\0".join(arguments))
"""


def copied(source: str, target: str) -> None:
    """Copy a file; what is compiled is linked where it can be, as it is never written to in its place."""
    if source.endswith((".so", ".pyc")):
        with suppress(OSError):
            os.link(source, target)
            return
    shutil.copy2(source, target)


@cache
def _server() -> subprocess.Popen[str]:
    """It ends when this process does, and every :class:`Prepared` with it."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("server.py"))],
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


class Prepared:
    """Snakemake in a process that has imported it and a folder's sources; every run is a process forked from there.

    Args:
        folder: where it runs.
        environment: its variables, ``PYTHONPATH`` the sources alone.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        self.place = TemporaryDirectory()
        address = f"{self.place.name}/asked"
        told = {"folder": str(folder), "environment": environment, "address": address}
        print(json.dumps(told), file=server.stdin, flush=True)
        answer = server.stdout.readline()
        assert answer == "listening\n", answer
        self._asking = Client(address)
        atexit.register(self.close)

    def run(self, *arguments: str, status: int = 0) -> str:
        """Return the output of Snakemake after it ended with ``status``."""
        printed = Path(self.place.name, "printed")
        printed.write_text("")
        self._asking.send((arguments, str(printed)))
        ended = self._asking.recv()
        assert ended == status, printed.read_text()
        return printed.read_text()

    def close(self) -> None:
        """End the process."""
        self._asking.close()
        self.place.cleanup()


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of processes that use the sources of a copy; no ``tokbench`` is on the search path."""
    return os.environ | {"PATH": os.defpath, "PYTHONPATH": str(folder / "src"), "PYTHONWARNINGS": "ignore"}


class Checkout:
    """The workflow, its sources and compiled kernels, copied into an empty folder.

    Args:
        folder: where the copy goes.
        stand_in: whether the ``tokbench`` of its rules only pretends to work.
    """

    def __init__(self, folder: Path, stand_in: bool = False) -> None:
        self.folder = folder
        for part in PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=UNUSED, copy_function=copied)
            else:
                shutil.copy(ROOT / part, folder / part)
        if stand_in:
            (folder / "src" / "tokbench" / "__main__.py").write_text(STAND_IN)

    @property
    def environment(self) -> dict[str, str]:
        """See :func:`environment_of`."""
        return environment_of(self.folder)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start Snakemake as the leader of a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.folder,
            env=self.environment,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def snakemake(self, *arguments: str, status: int = 0) -> str:
        """Return the output of Snakemake after it ended with ``status``."""
        return self._prepared.run(*arguments, status=status)

    @cached_property
    def _prepared(self) -> "Prepared":
        return Prepared(self.folder, self.environment)

    def close(self) -> None:
        """End the process that runs Snakemake here."""
        self._prepared.close()

    def summary(self, configuration: Path | str) -> dict[str, bool]:
        """Every output of the workflow below the folder of results, and whether the next run makes it."""
        lines = self.snakemake("--summary", "--configfile", str(configuration)).splitlines()
        rows = [line.split("\t") for line in lines if line.count("\t") == 5]
        return {row[0].split("/", 2)[2]: row[5] != "no update" for row in rows[1:]}

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """Have ``new`` in place of ``old`` in a file of the copy while the block lasts."""
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        try:
            yield
        finally:
            path.write_text(text)
