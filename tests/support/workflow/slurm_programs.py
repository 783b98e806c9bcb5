"""SLURM's programs without a cluster: jobs that only create files, and a controller that fails as a plan says.

``python slurm_programs.py FOLDER PROGRAM ARGUMENTS...`` is one call of a program. :class:`Controller` makes such
programs for a test. The folder has the plan, the jobs, and the calls so far:

- ``plan.json``: ``faults`` by program, a list of ``[first call, last call, fault]``, counted from 1; ``jobs`` by
  comment, each with ``seconds`` and the list of ``ends`` of its runs; whether there is ``accounting``, and whether jobs
  may be ``requeued``.
- ``jobs.json``: the state of each job by number.
- ``calls``: one line for each call.

A fault is a message of the program, which then ends with status 1. With the prefix ``taken:``, ``sbatch`` accepts the
job nevertheless.
"""

import fcntl
import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path

ACTIVE = ("PENDING", "RUNNING")
USUAL = {"faults": {}, "jobs": {}, "accounting": True, "requeued": True}


class Controller:
    """The programs of a folder, to be first on the search path.

    Args:
        folder: an empty folder, in which ``bin`` has the programs.
        plan: see above.
    """

    PROGRAMS = ("sbatch", "squeue", "sacct", "scontrol", "scancel", "sinfo", "sacctmgr", "sshare")

    def __init__(self, folder: Path, plan: dict[str, object]) -> None:
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir(parents=True)
        (folder / "plan.json").write_text(json.dumps(plan))
        for program in self.PROGRAMS:
            command = f'exec "{sys.executable}" -IS "{__file__}" "{folder}" {program} "$@"'
            (self.bin / program).write_text(f"#!/bin/sh\n{command}\n")
            (self.bin / program).chmod(0o755)

    def submissions(self) -> list[str]:
        """Return the comments of all jobs that were accepted, in order."""
        path = self.folder / "jobs.json"
        jobs = json.loads(path.read_text()) if path.exists() else {}
        return [jobs[number]["comment"] for number in sorted(jobs, key=int)]

    def calls(self, program: str) -> list[str]:
        """Return the calls of a program."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split()[0] == program]


def answer(folder: Path, program: str, arguments: list[str]) -> int:
    """Answer one call; return its exit status."""
    plan = {"faults": {}, "jobs": {}, "accounting": True, "requeued": True} | json.loads(
        (folder / "plan.json").read_text()
    )
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (folder / "calls").open("a") as calls:
            calls.write(f"{program} {' '.join(arguments)[:300]}\n".replace("\n", " ").strip() + "\n")
        number = sum(line.split()[0] == program for line in (folder / "calls").read_text().splitlines())
        path = folder / "jobs.json"
        jobs = json.loads(path.read_text()) if path.exists() else {}
        _advance(jobs)
        spans = plan["faults"].get(program, ())
        fault = next((fault for first, last, fault in spans if first <= number <= last), "")
        status, plan["silent"] = 0, bool(fault)
        if not fault or fault.startswith("taken:"):
            status = globals()[f"_{program}"](plan, jobs, arguments)
        path.write_text(json.dumps(jobs))
    if fault:
        print(f"{program}: error: {fault.removeprefix('taken:')}", file=sys.stderr)
    return 1 if fault else status


def _advance(jobs: dict[str, dict]) -> None:
    """End the jobs whose time is over. A job that ends well leaves its file."""
    for job in jobs.values():
        if job["state"] in ACTIVE and time.time() >= job["began"] + job["seconds"]:
            job["state"] = job["ends"][min(job["run"], len(job["ends"]) - 1)]
            if job["state"] == "COMPLETED":
                name = job["comment"].rpartition("wildcards_")[2]
                Path(job["folder"], f"{name}.txt").touch()


def _sbatch(plan: dict, jobs: dict, arguments: list[str]) -> int:
    options = dict(pairwise(arguments))
    comment = options["--comment"]
    form = {"seconds": 0.2, "ends": ["COMPLETED"]} | plan["jobs"].get(comment, {})
    number = str(len(jobs) + 1)
    jobs[number] = form | {
        "name": options["--job-name"],
        "comment": comment,
        "folder": os.getcwd(),
        "run": sum(job["run"] + 1 for job in jobs.values() if job["comment"] == comment),
        "state": "RUNNING",
        "began": time.time(),
    }
    if not plan["silent"]:
        print(number)
    return 0


def _squeue(plan: dict, jobs: dict, arguments: list[str]) -> int:
    form = next(text.partition("=")[2] for text in arguments if text.startswith("--format"))
    for number, job in jobs.items():
        line = form
        for letter, value in {"%i": number, "%T": job["state"], "%k": job["comment"], "%r": "None"}.items():
            line = line.replace(letter, value)
        print(line)
    return 0


def _scontrol(plan: dict, jobs: dict, arguments: list[str]) -> int:
    if arguments[:2] == ["show", "config"]:
        print("MinJobAge = 300 sec")
    elif arguments[0] == "requeue":
        if not plan["requeued"]:
            return 1
        job = jobs[arguments[1]]
        job.update(state="RUNNING", began=time.time(), run=job["run"] + 1)
    elif arguments[:2] == ["show", "job"] and (job := jobs.get(arguments[-1])):
        print(f"JobId={arguments[-1]} JobState={job['state']} ExitCode=0:0")
    return 0


def _scancel(plan: dict, jobs: dict, arguments: list[str]) -> int:
    for number in arguments:
        if number in jobs and jobs[number]["state"] in ACTIVE:
            jobs[number]["state"] = "CANCELLED"
    return 0


def _sacct(plan: dict, jobs: dict, arguments: list[str]) -> int:
    if not plan["accounting"]:
        print("Slurm accounting storage is disabled", file=sys.stderr)
        return 1
    for number, job in jobs.items():
        if "-X" in arguments or number in arguments:
            print(f"{number}|{job['state']}|0:0")
    return 0


def _sinfo(plan: dict, jobs: dict, arguments: list[str]) -> int:
    return 0


_sacctmgr = _sshare = _sinfo

if __name__ == "__main__":
    sys.exit(answer(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
