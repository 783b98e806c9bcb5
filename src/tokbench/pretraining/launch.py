"""A training by many processes: on this machine, or on the nodes of a SLURM job.

The one that launches checks what training reads and puts its checkpoints in order before any process starts, and holds
them until all have ended. Processes find each other by the variables of PyTorch's and Composer's own launchers. These
are not used: they import what training does, for nothing, outlive whoever started them, and print everything that each
process says as it fails. On several nodes SLURM starts one launcher on each, which sees all of its GPUs.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tokbench.atomic import alone
from tokbench.errors import TokbenchError
from tokbench.imported import NOTE
from tokbench.pretraining.options import ModelOptions
from tokbench.pretraining.phases import read_phases
from tokbench.pretraining.processes import LAUNCHED, Process, dying_with_parent, run_together
from tokbench.pretraining.standing import is_made, log, prepare, recipe_of

ON_NODE = "TOKBENCH_LAUNCHING"
"""Environment variable: set for the launchers of single nodes."""
PORTS = 20_000, 30_000
"""From and up to: where processes of several nodes meet, by the number of the job."""


def launched() -> bool:
    """Whether this is one process of a launch, ours or another program's."""
    return "RANK" in os.environ


def pretrain_together(
    command: Sequence[str], packed: Path, options: ModelOptions, output: Path, checkpoints: Path
) -> int:
    """Train a model by as many processes as its ``resources`` say.

    Args:
        command: what each process calls, without the interpreter.
        packed: packed sequences.
        options: architecture, recipe and resources.
        output: where the model goes.
        checkpoints: folder of this run's own.

    Returns:
        The exit status; what went wrong has been told in one line.

    Raises:
        TokbenchError: what :func:`tokbench.pretraining.train.pretrain` raises before it trains, or there are not as
            many nodes.
    """
    if ON_NODE in os.environ:
        return _on_this_node(command, options)
    phases = read_phases(options, packed)
    recipe = recipe_of(options, phases)
    with alone(checkpoints) as waited:
        if waited and is_made(output, recipe):
            log.info("%s: made by the process that was waited for", output)
            return 0
        prepare(phases, recipe, checkpoints)
        return _on_this_node(command, options) if options.resources.nodes == 1 else _on_nodes(command, options)


def _on_this_node(command: Sequence[str], options: ModelOptions) -> int:
    """Start this node's processes and wait for them."""
    each = options.resources.processes_per_node
    node = int(os.environ.get("SLURM_NODEID", "0")) if ON_NODE in os.environ else 0
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())} if ON_NODE not in os.environ else {}
    shared = meeting | {
        "WORLD_SIZE": str(options.resources.processes),
        "LOCAL_WORLD_SIZE": str(each),
        "NODE_RANK": str(node),
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
        LAUNCHED: "1",
    }
    processes = [
        Process(node * each + number, _called(command), shared | {"LOCAL_RANK": str(number)}) for number in range(each)
    ]
    return run_together(processes, options.resources.processes)


def _on_nodes(command: Sequence[str], options: ModelOptions) -> int:
    """Have SLURM start a launcher on each node of the job that this is part of."""
    nodes, resources = _nodes(), options.resources
    if len(nodes) < resources.nodes:
        raise TokbenchError(
            f"nodes: {resources.nodes}, but this is not part of a job of SLURM with so many; start it by the "
            "workflow with profiles/slurm, or within sbatch or salloc"
        )
    first, last = PORTS
    meeting = {
        "MASTER_ADDR": _address(nodes[0]),
        "MASTER_PORT": str(first + int(os.environ["SLURM_JOB_ID"]) % (last - first)),
        ON_NODE: "1",
    }
    srun = [
        "srun",
        "--quiet",
        f"--nodes={resources.nodes}",
        f"--ntasks={resources.nodes}",
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
    ]
    if cpus := os.environ.get("SLURM_CPUS_PER_TASK"):
        srun.append(f"--cpus-per-task={cpus}")
    environment = {name: value for name, value in os.environ.items() if name != NOTE}
    started = subprocess.Popen([*srun, *_called(command)], env=environment | meeting, preexec_fn=dying_with_parent)
    return started.wait()


def _nodes() -> list[str]:
    """Nodes of the job that this is part of, in SLURM's order; none outside one."""
    listed = os.environ.get("SLURM_JOB_NODELIST")
    return _told("scontrol", "show", "hostnames", listed).split() if listed else []


def _address(node: str) -> str:
    """Where SLURM itself finds a node."""
    fields = dict(field.partition("=")[::2] for field in _told("scontrol", "--oneliner", "show", "node", node).split())
    return fields.get("NodeAddr", node)


def _told(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise TokbenchError(f"{command[0]}: {error}; is this a job of SLURM?") from None


def _called(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "tokbench", *command]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port
