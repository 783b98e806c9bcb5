"""A real SLURM on this machine: a controller and some nodes that share its cores, started for a test.

Each node claims to have a GPU. It takes the packages ``slurmctld``, ``slurmd``, ``slurm-client`` and
``munge``, and root: SLURM finds its configuration at one place only, :data:`CONFIGURATION`, which is lent to the
cluster and given back when it ends.

Runs of Snakemake that a test observes, and SLURM's records of their jobs.
"""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = (Path("/etc/slurm/slurm.conf"), Path("/etc/slurm/gres.conf"))
DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
PATIENCE = 30.0
"""Seconds until a cluster that has not started counts as broken."""
SETTINGS = """\
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/ended.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=0,batch_sched_delay=0
DefMemPerCPU=500
ReturnToService=2
MinJobAge=300
KillWait=2
OverTimeLimit=0
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=DEFAULT CPUs={cores} RealMemory={memory} Gres=gpu:1
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]
PartitionName=cpu Nodes=n[1-{nodes}] Default=YES MaxTime=7-00:00:00 State=UP
PartitionName=gpu Nodes=n[1-{nodes}] MaxTime=7-00:00:00 State=UP
"""
GPUS = "NodeName=n[1-{nodes}] Name=gpu File=/dev/null\n"
FIRST_PORT = 17001
MUNGE = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}


def missing() -> str:
    """Why no cluster can be started here; empty where one can."""
    absent = [name for name in DAEMONS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)} not installed"
    return "" if os.geteuid() == 0 else "not root"


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        folder: of its configuration, logs and records.
        nodes: names of its nodes.
    """

    folder: Path
    nodes: tuple[str, ...]

    def ended(self, run: "Run") -> list[dict[str, str]]:
        """SLURM's own record of the jobs of a run that have ended: ``Name``, ``JobState``, ``TimeLimit``,
        ``NodeList``, ``Tres`` and others."""
        records = self.folder / "ended.txt"
        lines = records.read_text().splitlines() if records.exists() else []
        jobs = [dict(field.partition("=")[::2] for field in line.split()) for line in lines]
        return [job for job in jobs if job["Name"] == run.identifier()]

    def prefer_other_nodes(self, run: "Run") -> set[str]:
        """Start jobs from now on at nodes where no job of the run has ended, if they are free; return the nodes where
        one has. Otherwise jobs that follow one another would all be at the first node."""
        # A job that is cancelled before it starts has no node.
        used = {job["NodeList"] for job in self.ended(run)}.intersection(self.nodes)
        said_by("scontrol", "update", f"nodename={','.join(used)}", "weight=1000")
        return used


@contextmanager
def cluster(folder: Path, nodes: int = 1, cores: int = 2, memory: int = 6000) -> Iterator[Cluster]:
    """Start a cluster and end it with the block, jobs and all.

    Args:
        folder: an empty folder on a path that is not long: it holds a socket.
        nodes: how many.
        cores: of each node.
        memory: of each node, in MB.
    """
    host = subprocess.run(["hostname", "-s"], capture_output=True, text=True, check=True).stdout.strip()
    last = FIRST_PORT + nodes - 1
    text = SETTINGS.format(
        host=host, folder=folder, nodes=nodes, first=FIRST_PORT, last=last, cores=cores, memory=memory
    )
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(GPUS.format(nodes=nodes))
    names = tuple(f"n{node}" for node in range(1, nodes + 1))
    for name in ("state", *(f"spool-{name}" for name in names)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    folder.chmod(0o755)  # Munge wants its socket within reach of all.
    munge = [f"--{name}={folder}/munge.{end}" for name, end in MUNGE.items()]
    with ExitStack() as lent:
        for place in CONFIGURATION:
            lent.enter_context(_lent(place, folder / place.name))
        try:
            _start("munged", *munge)
            _start("slurmctld", "-c")
            for name in names:
                _start("slurmd", "-N", name)
            _wait(nodes)
            yield Cluster(folder, names)
        finally:
            _end([*(folder / f"slurmd-{name}.pid" for name in names), folder / "slurmctld.pid", folder / "munge.pid"])


@contextmanager
def _lent(place: Path, settings: Path) -> Iterator[None]:
    """The one place where SLURM looks leads to our settings, as long as the block lasts."""
    place.parent.mkdir(exist_ok=True)
    kept = place.with_name(f"{place.name}.kept")
    if place.exists() or place.is_symlink():
        place.rename(kept)
    place.symlink_to(settings)
    try:
        yield
    finally:
        place.unlink()
        if kept.exists() or kept.is_symlink():
            kept.rename(place)


def _start(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _wait(nodes: int) -> None:
    end = time.monotonic() + PATIENCE
    states: list[str] = []
    while states != ["idle"] * nodes:
        assert time.monotonic() < end, states
        time.sleep(0.1)
        listed = subprocess.run(["sinfo", "-h", "-N", "-p", "cpu", "-o", "%T"], capture_output=True, text=True)
        states = listed.stdout.split()


def _end(files: list[Path]) -> None:
    """End jobs and daemons, and see that they are gone: a controller writes its state to the last."""
    subprocess.run(["scancel", "--user=root"], capture_output=True)
    end = time.monotonic() + PATIENCE
    while subprocess.run(["squeue", "-h"], capture_output=True).stdout and time.monotonic() < end:
        time.sleep(0.1)
    processes = [int(file.read_text()) for file in files if file.exists()]
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while any(map(_runs, processes)) and time.monotonic() < end:
        time.sleep(0.1)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


ROOT = Path(__file__).parents[2]
RUNS_PATIENCE = 600.0
"""Seconds until a run that has not ended, or not come to a point, counts as one that never does."""


@dataclass(frozen=True)
class Run:
    """A run of Snakemake that is under way; what it prints goes to a file."""

    process: subprocess.Popen[bytes]
    terminal: Path

    def printed(self) -> str:
        return self.terminal.read_text()

    def until(self, reached: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + RUNS_PATIENCE
        while not reached():
            assert self.process.poll() is None, self.printed()
            assert time.monotonic() < end, self.printed()
            time.sleep(0.5)

    def identifier(self) -> str:
        """The name that its jobs have in SLURM."""
        found = re.search(r"SLURM run ID: (\S+)", self.printed())
        assert found, self.printed()
        return found.group(1)

    def ended(self, status: int) -> str:
        """Return its output after its end."""
        assert self.process.wait(RUNS_PATIENCE) == status, self.printed()
        return self.printed()


@contextmanager
def started(terminal: Path, *arguments: str, folder: Path = ROOT) -> Iterator[Run]:
    """A run that does not outlive the block."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    with terminal.open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield Run(process, terminal)
    finally:
        process.kill()
        process.wait()


def said_by(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def job_of(rule: str) -> list[str]:
    """SLURM's numbers of a rule's jobs."""
    listed = (line.split() for line in said_by("squeue", "--noheader", "--format=%i %k").splitlines())
    return [number for number, comment in listed if comment == f"rule_{rule}"]
