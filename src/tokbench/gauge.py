"""What a training took: tokens a second, how much of the device that is, memory and joules; nothing that decides it.

Each process appends what its device tells to a file of its own beside the checkpoints, so that a training that was
killed and gone on with tells of all its starts.
"""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tokbench.allowance import most_resident

GAUGES = "gauges"
"""Folder among the checkpoints, of what the processes' devices told."""
PEAKS = {"NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H200": 989.4, "NVIDIA A100": 312.0}
"""Dense bfloat16 TFLOP/s by the makers' data sheets, by the device's name, behind which memory or slot may stand."""
OTHERS = "NVL", "MIG"
"""In the name of a slower device of the same family, and of a part of one."""
SAMPLED_EVERY = 0.5
START = "seconds,joules,bytes in use\n"
"""Line that opens each start's samples."""
SKIPPED = 10
"""Marks that are left out of the speed: libraries choose their kernels in the batches until there."""
STRETCHES = 10
MARKS = 1000
"""That a :class:`Pace` keeps of a training at least, where it has as many steps."""
Mark = tuple[int, float]
"""Tokens that a training had seen after so many seconds."""


def peak_of(device: str) -> float | None:
    """TFLOP/s of a device by its name; None where it is not known."""
    if any(other in device for other in OTHERS):
        return None
    return next((peak for name, peak in PEAKS.items() if re.match(rf"{name}(?!\w)", device)), None)


def speed(marks: Sequence[Mark]) -> float | None:
    """Tokens a second: the median over stretches of equally many marks, the first of a training left out."""
    length = (len(marks) - 1 - SKIPPED) // STRETCHES
    if length < 1:
        return None
    ends = [marks[SKIPPED + number * length] for number in range(STRETCHES + 1)]
    found = sorted((end[0] - start[0]) / max(0.01, end[1] - start[1]) for start, end in pairwise(ends))
    return (found[STRETCHES // 2 - 1] + found[STRETCHES // 2]) / 2


class Pace:
    """How a training of known length goes on, from now on: a mark of every step, of long ones of every so many.

    Args:
        steps: of the whole training.
    """

    def __init__(self, steps: int) -> None:
        self.marks: list[Mark] = []
        self._steps = steps
        self._began = time.monotonic()

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"marks": self.marks, "seconds": self._seconds}

    def resume(self, state: dict[str, Any] | None) -> None:
        """Go on from what a checkpoint kept; of one that kept nothing only what comes is told."""
        kept = state or {"marks": [], "seconds": 0.0}
        self.marks = [(int(tokens), float(seconds)) for tokens, seconds in kept["marks"]]
        self._began = time.monotonic() - float(kept["seconds"])

    def mark(self, step: int, tokens: int) -> None:
        """After a step, counted from 1, with so many tokens seen in all."""
        if step % max(1, self._steps // MARKS) == 0 or step == self._steps:
            self.marks.append((tokens, self._seconds))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The time within does not count."""
        before = time.monotonic()
        yield
        self._began += time.monotonic() - before

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)


class Gauge:
    """Appends seconds, joules and bytes in use to a file, while it is entered.

    Of a GPU twice a second, where it tells them; of a process that computes on processors the most that it has held,
    once, at the end, and no joules.

    Args:
        path: the file.
        on_gpu: whether the process computes on a GPU, if there is one.
    """

    def __init__(self, path: Path, *, on_gpu: bool = True) -> None:
        self._path = path
        self._on_gpu = on_gpu
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._began = 0.0

    def __enter__(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        self._append(START)
        if not self._on_gpu:
            return
        try:
            tell = device_counters()
        except Exception:  # No GPU, or none that tells: whatever its library raises, training goes on.
            return
        self._thread = threading.Thread(target=self._sample, args=(tell,), daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        else:
            self._append(f"{time.monotonic() - self._began:.2f},,{most_resident()}\n")

    def _sample(self, tell: Callable[[], tuple[float, int]]) -> None:
        ended = False
        while not ended:
            ended = self._ended.wait(SAMPLED_EVERY)
            try:
                joules, used = tell()
            except Exception:  # As at first: training goes on, with what has been told until here.
                return
            self._append(f"{time.monotonic() - self._began:.2f},{joules},{used}\n")

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line)


def forget(checkpoints: Path) -> None:
    """Remove the files of gauges among checkpoints."""
    shutil.rmtree(checkpoints / GAUGES, ignore_errors=True)


def device_counters() -> Callable[[], tuple[float, int]]:
    """A function that tells joules since now and bytes in use of this process's GPU, by NVIDIA's management library.

    That has an order of its own, and all GPUs of a machine where a process is shown some: it is asked by identity.

    Raises:
        Exception: of any kind, where there is no GPU or none that tells.
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


def gauged(path: Path) -> tuple[float | None, float | None, int | None]:
    """Joules over all starts, most GiB in use, and the number of starts that such a file tells of.

    A line that a kill or a full disk cut off counts for nothing."""
    if not path.is_file():
        return None, None, None
    starts = path.read_text(encoding="utf-8").split(START)[1:]
    told = [[line.split(",") for line in start.split("\n")[:-1] if line.count(",") == 2] for start in starts]
    told = [rows for rows in told if rows]
    if not told:
        return None, None, len(starts)
    used = max(int(row[2]) for rows in told for row in rows)
    joules = [float(rows[-1][1]) for rows in told if rows[-1][1]]
    return sum(joules) if joules else None, used / 2**30, len(starts)


def effort(
    folder: Path, marks: Sequence[Mark], flops_per_token: float, peak: float | None, processes: int = 1
) -> dict[str, Any]:
    """What a training took, for its manifest.

    Args:
        folder: the files of all its processes' gauges.
        marks: of its steps, the last one among them.
        flops_per_token: floating-point operations of training for a token.
        peak: TFLOP/s of a device in the training's arithmetic, see :func:`peak_of`.
        processes: how many there were at its end, a device each.

    Returns:
        ``seconds`` between its first batch and its last, interruptions left out; ``tokens_per_second`` of all devices
        (None of a short training, and where its starts had different numbers of processes); ``flops_per_token`` as
        given; ``mfu``, the arithmetic of these tokens over the peak of all devices, where both are known (Chowdhery et
        al. 2022, appendix B); ``peak_gib``, the most that any process or its GPU held; ``joules`` of all GPUs, over all
        starts; ``starts``.
    """
    told = [gauged(path) for path in sorted(folder.glob("*.csv"))]
    joules = [one for one, _, _ in told if one is not None]
    used = [one for _, one, _ in told if one is not None]
    starts = [number or 0 for _, _, number in told]
    tokens_per_second = speed(marks) if starts.count(max(starts, default=0)) == len(starts) == processes else None
    return {
        "seconds": marks[-1][1],
        "tokens_per_second": tokens_per_second,
        "flops_per_token": flops_per_token,
        "mfu": tokens_per_second * flops_per_token / (peak * 1e12 * processes) if peak and tokens_per_second else None,
        "peak_gib": max(used, default=None),
        "joules": sum(joules) if joules else None,
        "starts": max(starts, default=0),
    }
