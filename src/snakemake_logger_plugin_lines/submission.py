"""Submission of jobs: ``sbatch``, called again while SLURM does not accept jobs for a moment.

SLURM's executor calls ``sbatch`` once, and a job that it rejects has failed. :class:`Submissions` puts a program of
this name in front of SLURM's own on the search path. It waits and tries again if SLURM did not answer, or if a limit of
submitted jobs is reached. If SLURM did not answer it may have accepted the job nevertheless, so the queue is searched
for it first. Every other answer is passed on.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

NO_ANSWER = re.compile(
    r"timed out|Unable to contact|Connection refused|Connection reset|Zero Bytes|temporarily un|Transport endpoint"
)
"""Messages of ``sbatch`` if the controller is busy or restarts."""
LIMIT = re.compile(r"(Max|Grp)SubmitJob")
"""Messages of ``sbatch`` if a user or a group has too many jobs."""
ATTEMPTS = {NO_ANSWER: 120, LIMIT: 2880}
"""Attempts until a message is passed on: an hour and a day, at half a minute each."""
HANGS = 600.0
"""Seconds after which a call of ``sbatch`` counts as one without an answer."""
TAKEN = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "COMPLETED")
"""States of a job that was accepted. An earlier attempt of the same job has another one, as it failed."""
STOP, NOTES = "stop", "notes"
"""Files of the folder: that no more jobs may be submitted, and the messages for which submissions wait."""


@dataclass
class Submissions:
    """The folder of the program ``sbatch`` of a run."""

    folder: Path
    _read: int = 0
    _reported: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, pause: float) -> "Submissions | None":
        """Put the program on the search path of this process; None if there is no ``sbatch``.

        Args:
            pause: seconds between two attempts.
        """
        sbatch = shutil.which("sbatch")
        if sbatch is None:
            return None
        # Snakemake's folder is on a disk whose files may be executed.
        folder = Path(mkdtemp(prefix="tokbench.sbatch.", dir=".snakemake")).absolute()
        command = shlex.join([sys.executable, "-I", "-S", __file__, str(folder), sbatch, str(pause)])
        (folder / "sbatch").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / "sbatch").chmod(0o755)
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
        return cls(folder)

    def notes(self) -> list[str]:
        """Return each new message for which submissions wait."""
        path = self.folder / NOTES
        lines = path.read_text().splitlines() if path.exists() else []
        new, self._read = lines[self._read :], len(lines)
        messages = [message for message in dict.fromkeys(map(json.loads, new)) if message not in self._reported]
        self._reported.update(messages)
        return messages

    def stop(self) -> None:
        """Reject all submissions from now on."""
        (self.folder / STOP).touch()

    def end(self) -> None:
        """Remove the program."""
        shutil.rmtree(self.folder, ignore_errors=True)


def submit(folder: Path, sbatch: str, pause: float, arguments: list[str]) -> int:
    """Submit a job; print the answer of ``sbatch`` and return its exit status."""
    script = sys.stdin.read() if arguments[-1:] == ["/dev/stdin"] else None
    attempts = dict.fromkeys(ATTEMPTS, 0)
    while folder.exists() and not (folder / STOP).exists():
        status, output, message = _call([sbatch, *arguments], script)
        kind = next((kind for kind in ATTEMPTS if kind.search(message)), None)
        if status == 0 or kind is None or attempts[kind] == ATTEMPTS[kind]:
            print(output, end="")
            print(message, end="", file=sys.stderr)
            return status
        attempts[kind] += 1
        with (folder / NOTES).open("a") as notes:
            notes.write(json.dumps(message) + "\n")
        time.sleep(pause)
        number = _taken(folder, pause, arguments) if kind is NO_ANSWER else ""
        if number:
            print(number)
            return 0
    print("sbatch: error: the run ends", file=sys.stderr)
    return 1


def _taken(folder: Path, pause: float, arguments: list[str]) -> str:
    """Return the number of the job if SLURM accepted it without an answer; wait until the queue can be read."""
    options = dict(pairwise(arguments))
    name, comment = options.get("--job-name", ""), options.get("--comment", "")
    command = ["squeue", "--noheader", "--states=all", "--format=%i|%T|%k", "--name", name]
    for _ in range(ATTEMPTS[NO_ANSWER]):
        status, output, _ = _call(command, None)
        if status == 0:
            rows = [line.strip().split("|", 2) for line in output.splitlines()]
            return next((row[0] for row in rows if row[1] in TAKEN and row[2] == comment), "")
        if (folder / STOP).exists():
            break
        time.sleep(pause)
    return ""


def _call(command: list[str], text: str | None) -> tuple[int, str, str]:
    """Return the exit status and the output of a command. One that hangs has timed out."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=HANGS)
    except subprocess.TimeoutExpired:
        return 1, "", f"{command[0]}: error: timed out\n"
    return done.returncode, done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(submit(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:]))
