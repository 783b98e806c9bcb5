"""Training by several processes: ``torchrun`` starts them, on this machine or on every node of a SLURM job.

The launcher validates the inputs and prepares the checkpoints before any process starts, and keeps the checkpoints
locked until all processes have ended. It passes on the output of the process of rank 0. If a process fails, torchrun
ends the others, and one line says which process failed and why.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.io.locks import exclusive
from tokbench.models.pretraining.checkpoints import LOGS, is_up_to_date, log, prepare_run, resume_key
from tokbench.models.pretraining.options import ModelOptions, TrainingResources
from tokbench.models.pretraining.phases import read_phases

LAUNCHED = "TOKBENCH_LAUNCHED"
"""Environment variable of processes whose launcher has prepared and locked the checkpoints."""
PROGRAM = ("-m", "tokbench")
"""Arguments of Python that ``torchrun`` passes to each process."""
PORTS = 20_000, 30_000
"""Range of rendezvous ports of the nodes, end excluded. The number of the SLURM job selects one."""
JOB = "SLURM_JOB_ID"
"""Environment variable with the number of the SLURM job."""
SIGNALLED = 128
"""Offset that a shell adds to a signal's number for the exit status."""
DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux's prctl."""
LINE = re.compile(r"\[rank(\d+)\]:(.*)", re.DOTALL)
"""Line of a process, in the form that ``torchrun`` forwards with the template below."""
TEMPLATE = "[rank${rank}]:"
FAILURE = re.compile(r"Root Cause.*?rank *: (\d+) .*?exitcode *: (-?\d+) ", re.DOTALL)
"""Part of torchrun's report: the process that failed first, and its exit code."""
MESSAGE = "tokbench: "
"""Prefix of the line that a failing command of Tokbench prints."""
CLOSING = "closing signal"
"""Part of the line that torchrun prints when it ends the other processes after a failure."""
DISCONNECTED = "onnection "
"""Part of the message of a process whose peer has gone: "Connection closed by peer", "connection reset"."""


def is_launched() -> bool:
    """Return whether this process is one of several that a launcher started."""
    return "RANK" in os.environ


def pretrain_together(
    command: Sequence[str], packed: Path, options: ModelOptions, output: Path, checkpoints: Path
) -> int:
    """Train a model with the number of processes in its ``resources``.

    Args:
        command: arguments of ``tokbench`` for each process.
        packed: packed sequences.
        options: architecture, recipe and resources.
        output: folder of the model.
        checkpoints: folder of this run's checkpoints.

    Returns:
        The exit status: 0, or that of the process that failed first. One line on standard error says why.

    Raises:
        TokbenchError: as :func:`tokbench.models.pretraining.train.pretrain` before training, or the SLURM job has too
            few nodes.
    """
    phases = read_phases(options, packed)
    recipe = resume_key(options, phases)
    with exclusive(checkpoints) as waited:
        if waited and is_up_to_date(output, recipe):
            log.info("%s: already made by the process that held the lock", output)
            return 0
        prepare_run(phases, recipe, checkpoints)
        logs = checkpoints / LOGS
        shutil.rmtree(logs, ignore_errors=True)
        words = [word.replace("$", "$$") for word in command]  # torchrun substitutes ${local_rank} in them.
        return run_together([*torchrun(options.resources, logs), *PROGRAM, *words], options.resources.processes)


def run_together(launcher: Sequence[str], processes: int) -> int:
    """Run ``torchrun`` and forward the output of rank 0, except for its failure message.

    Args:
        launcher: the command line.
        processes: number of processes on all machines.

    Returns:
        The exit status of the process that failed first, or 0.
    """
    environment = {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": TEMPLATE, "PYTHONSAFEPATH": "1", LAUNCHED: "1"}
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(SIGNALLED + number))
    running = subprocess.Popen(
        launcher,
        env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=_end_with_parent,
    )
    try:
        assert running.stdout is not None
        messages, report = _pass_on(running.stdout)
        status = running.wait()
    finally:
        running.terminate()
        running.wait()
        signal.signal(signal.SIGTERM, before)
    if status == 0:
        return 0
    message, status = _first_failure(messages, report, processes, status)
    sys.stderr.write(f"{message}\n")
    return status


def _pass_on(lines: Iterable[str]) -> tuple[dict[int, str], str]:
    """Write the lines of rank 0 to standard error; return the first message of each rank, and torchrun's own lines.

    Tracebacks of processes that torchrun ends are not written.
    """
    messages: dict[int, str] = {}
    report = []
    closing = False
    for line in lines:
        match = LINE.fullmatch(line)
        if match is None:
            report.append(line)
            closing = closing or CLOSING in line
        elif match[2].startswith(MESSAGE):
            messages.setdefault(int(match[1]), match[2].rstrip())
        elif match[1] == "0" and not closing:
            sys.stderr.write(match[2])
            sys.stderr.flush()
    return messages, "".join(report)


def _first_failure(messages: dict[int, str], report: str, processes: int, status: int) -> tuple[str, int]:
    """Return the line with the cause of the failure, and the exit status.

    On several nodes each torchrun reports its own failure. A process that only lost a connection did not fail first.
    """
    failures = [(int(rank), int(code)) for rank, code in FAILURE.findall(report)]
    if not failures:
        lines = [line for line in report.splitlines() if line.strip()]
        return f"tokbench: torchrun ended with status {status}: {lines[-1] if lines else 'no message'}", status
    rank, code = min(failures, key=lambda failure: DISCONNECTED in messages.get(failure[0], ""))
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    ended = f"tokbench: process {rank} of {processes} {how}; the training ends with it"
    return messages.get(rank, ended), code if code > 0 else SIGNALLED - code


def torchrun(resources: TrainingResources, logs: Path) -> list[str]:
    """Return the command line that starts the processes, without their program.

    Raises:
        TokbenchError: the SLURM job has fewer nodes than ``resources`` needs.
    """
    process_options = ["--nproc-per-node", str(resources.processes_per_node), "--tee", "3", "--log-dir", str(logs)]
    torchrun = [sys.executable, "-P", "-m", "torch.distributed.run", *process_options]
    if resources.nodes == 1:
        return [*torchrun, "--standalone"]
    allocated = _allocated_nodes()
    nodes = _output("scontrol", "show", "hostnames", allocated).split() if allocated else []
    if len(nodes) < resources.nodes:
        raise TokbenchError(
            f"nodes: {resources.nodes}, but this is not part of a SLURM job with that number; start it with the "
            "workflow with profiles/slurm, or within sbatch or salloc"
        )
    first, end = PORTS
    job = os.environ[JOB]
    meeting = f"{_address(nodes[0])}:{first + int(job) % (end - first)}"
    # In a step of one node, as Snakemake starts it, srun would know this node only.
    srun = ["env", f"SLURM_JOB_NODELIST={allocated}"]
    srun += ["srun", "--quiet", f"--nodes={resources.nodes}", f"--ntasks={resources.nodes}", "--ntasks-per-node=1"]
    srun += ["--kill-on-bad-exit=1", "--overlap"]  # Snakemake's own step has the resources of the job.
    if cpus := os.environ.get("SLURM_CPUS_PER_TASK"):
        srun.append(f"--cpus-per-task={cpus}")
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", meeting, "--rdzv-id", job]
    return [*srun, *torchrun, "--nnodes", str(resources.nodes), *rendezvous]


def _allocated_nodes() -> str:
    """Return the nodes of the SLURM job as SLURM writes them, such as ``n[3,7]``; an empty string outside a job."""
    job = os.environ.get(JOB)
    return _output("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip() if job else ""


def _address(node: str) -> str:
    """Return the address by which SLURM reaches a node."""
    description = _output("scontrol", "--oneliner", "show", "node", node)
    fields = dict(field.partition("=")[::2] for field in description.split())
    return fields.get("NodeAddr", node)


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise TokbenchError(f"{command[0]}: {error}; is this a job of SLURM?") from None


def _end_with_parent() -> None:
    """On Linux, end the calling process with its parent. Training would otherwise continue without a lock."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM)
