"""Training cost: tokens per second, model FLOPs utilisation, peak memory and energy. No result depends on it.

Each process appends the readings of its device to its own file in the checkpoint folder. An interrupted and resumed
training therefore reports all of its starts.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from tokbench.costs.devices import PEAKS
from tokbench.runtime.memory_limit import peak_resident_bytes

GAUGES = "gauges"
"""Folder within the checkpoint folder, with one file per process."""
SLOWER_DEVICES = "NVL", "MIG"
"""Marks in the names of slower devices of the same family, and of partitions of a device."""
START = "joules,bytes in use\n"
"""Line at the beginning of each start of a process."""
SKIPPED = 10
"""Number of initial marks excluded from the speed, because libraries choose their kernels in these batches."""
STRETCHES = 10
MARKS = 1000
"""Smallest number of marks that :class:`ThroughputLog` keeps of a training with at least this number of steps."""
Mark = tuple[int, float]
"""Tokens seen so far, and seconds since the start."""


def peak_of(device: str) -> float | None:
    """Return the peak TFLOP/s of a device by its name; None if unknown."""
    if any(part in device for part in SLOWER_DEVICES):
        return None
    return next((peak for name, peak in PEAKS.items() if re.match(rf"{name}(?!\w)", device)), None)


def speed(marks: Sequence[Mark]) -> float | None:
    """Return tokens per second: the median over ten stretches of equal length; None for a short training."""
    length = (len(marks) - 1 - SKIPPED) // STRETCHES
    if length < 1:
        return None
    ends = [marks[SKIPPED + number * length] for number in range(STRETCHES + 1)]
    return median((end[0] - start[0]) / max(0.01, end[1] - start[1]) for start, end in pairwise(ends))


class ThroughputLog:
    """Log of a training's progress over time: a mark at every step, or at every few steps of a long training.

    Time starts when the log is created.

    Args:
        steps: number of steps of the training.
    """

    def __init__(self, steps: int) -> None:
        self.marks: list[Mark] = []
        self._steps = steps
        self._began = time.monotonic()

    @property
    def state(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {"marks": self.marks, "seconds": self._seconds}

    def resume(self, state: dict[str, Any] | None) -> None:
        """Continue from the state of a checkpoint, or start if it is None."""
        state = state or {"marks": [], "seconds": 0.0}
        self.marks = [(int(tokens), float(seconds)) for tokens, seconds in state["marks"]]
        self._began = time.monotonic() - float(state["seconds"])

    def mark(self, step: int, tokens: int) -> None:
        """Mark the end of a step, counted from 1, with the total number of tokens seen."""
        if step % max(1, self._steps // MARKS) == 0 or step == self._steps:
            self.marks.append((tokens, self._seconds))

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Exclude the time of the block."""
        before = time.monotonic()
        yield
        self._began += time.monotonic() - before

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)


@contextmanager
def sample_resources(path: Path, *, on_gpu: bool = True) -> Iterator[None]:
    """Append energy and memory of the block to a file: of the GPU, or of this process if there is none.

    A killed block appends only its start.

    Args:
        path: the file.
        on_gpu: True if the process computes on a GPU, if there is one. Default: True.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _append(path, START)
    try:
        read = device_counters() if on_gpu else None
    except Exception:  # No GPU, or a GPU without counters. Training does not need them.
        read = None
    try:
        yield
    finally:
        try:
            joules, used = ("", peak_resident_bytes()) if read is None else read()
            _append(path, f"{joules},{used}\n")
        except Exception:  # Training does not need the counters.
            pass


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


def device_counters() -> Callable[[], tuple[float, int]]:
    """Return a function that reads this process's GPU through NVML: joules since the call, and bytes in use.

    NVML has its own numbering of the machine's GPUs, so the GPU is identified by its UUID.

    Raises:
        Exception: of any type, if there is no GPU or it has no such counters.
    """
    import torch

    current = torch.cuda.current_device()
    import pynvml

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(current).uuid}")
    first = pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
    return lambda: (
        (pynvml.nvmlDeviceGetTotalEnergyConsumption(device) - first) / 1000,
        pynvml.nvmlDeviceGetMemoryInfo(device).used,
    )


def remove_samples(checkpoints: Path) -> None:
    """Remove the files of :func:`sample_resources` from a checkpoint folder."""
    shutil.rmtree(checkpoints / GAUGES, ignore_errors=True)


def read_samples(path: Path) -> tuple[float | None, float | None, int | None]:
    """Return joules over all starts, maximum GiB in use, and number of starts in a file of :func:`sample_resources`.

    Joules are None if a start was killed, because its energy is unknown.
    """
    if not path.is_file():
        return None, None, None
    starts = [start.split("\n")[0].split(",") for start in path.read_text(encoding="utf-8").split(START)[1:]]
    ended = [start for start in starts if len(start) == 2]
    joules = [float(start[0]) for start in ended if start[0]]
    used = max((int(start[1]) for start in ended), default=None)
    return (
        sum(joules) if starts and len(joules) == len(starts) else None,
        None if used is None else used / 2**30,
        len(starts),
    )


def training_cost(
    folder: Path, marks: Sequence[Mark], flops_per_token: float, peak: float | None, processes: int = 1
) -> dict[str, Any]:
    """Return the cost of a training, for its manifest.

    Args:
        folder: folder with the files of :func:`sample_resources` of all processes.
        marks: marks of its steps, including the last one.
        flops_per_token: floating-point operations of training per token.
        peak: TFLOP/s of a device in the training's precision, see :func:`peak_of`.
        processes: number of processes at its end, each with a device. Default: 1.

    Returns:
        ``seconds`` from the first batch to the last, without interruptions. ``tokens_per_second`` of all devices, None
        for a short training or if its starts had different numbers of processes. ``flops_per_token`` as passed.
        ``mfu``, the arithmetic of these tokens relative to the peak of all devices, if both are known (Chowdhery et al.
        2022, appendix B). ``peak_gib``, the maximum memory of any process, or of its GPU at the end. ``joules`` of all
        GPUs over all starts, None if one was killed. ``starts``.
    """
    samples = [read_samples(path) for path in sorted(folder.glob("*.csv"))]
    joules = [energy for energy, _, _ in samples if energy is not None]
    used = [memory for _, memory, _ in samples if memory is not None]
    starts = [number or 0 for _, _, number in samples]
    tokens_per_second = speed(marks) if starts.count(max(starts, default=0)) == len(starts) == processes else None
    return {
        "seconds": marks[-1][1],
        "tokens_per_second": tokens_per_second,
        "flops_per_token": flops_per_token,
        "mfu": tokens_per_second * flops_per_token / (peak * 1e12 * processes) if peak and tokens_per_second else None,
        "peak_gib": max(used, default=None),
        "joules": None if None in joules or not joules else sum(energy for energy in joules if energy is not None),
        "starts": max(starts, default=0),
    }
