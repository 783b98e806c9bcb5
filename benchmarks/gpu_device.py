"""One GPU: what it is, what it can do, and what it says of its work."""

import importlib.metadata
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokbench.pretraining.options import ModelOptions

PEAKS = {"NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H200": 989.4, "NVIDIA A100": 312.0}
"""Dense bfloat16 TFLOP/s by the makers' data sheets, by how the device's name begins."""
SAMPLED_EVERY = 0.5
START = "seconds,joules,bytes in use\n"
"""Line that opens each start's samples."""


class Gauge:
    """Appends seconds, joules and bytes in use of the GPU to a file, while it is entered, if it tells them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with self._path.open("a", encoding="utf-8", buffering=1) as file:
            file.write(START)
            try:
                tell = device_counters()
            except Exception as error:
                print(f"the device tells no joules: {type(error).__name__}: {error}", file=sys.stderr)
                return
            ended = False
            while not ended:
                ended = self._ended.wait(SAMPLED_EVERY)
                joules, used = tell()
                file.write(f"{time.monotonic() - began:.2f},{joules},{used}\n")


def device_counters() -> Callable[[], tuple[float, int]]:
    """A function that tells joules since now and bytes in use of the GPU, by NVIDIA's management library."""
    import pynvml
    import torch

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
    first = pynvml.nvmlDeviceGetTotalEnergyConsumption(device)
    return lambda: (
        (pynvml.nvmlDeviceGetTotalEnergyConsumption(device) - first) / 1000,
        pynvml.nvmlDeviceGetMemoryInfo(device).used,
    )


def gauged(path: Path) -> tuple[float | None, float | None, int | None]:
    """Joules over all starts, most GiB in use, and the number of starts that such a file tells of."""
    if not path.is_file():
        return None, None, None
    starts = path.read_text(encoding="utf-8").split(START)[1:]
    told = [[line.split(",") for line in start.splitlines() if line.count(",") == 2] for start in starts]
    told = [rows for rows in told if rows]
    if not told:
        return None, None, len(starts)
    used = max(int(row[2]) for rows in told for row in rows)
    return sum(float(rows[-1][1]) for rows in told), used / 2**30, len(starts)


def described(options: ModelOptions, given_peak: float | None) -> tuple[dict[str, Any], float | None]:
    """The machine, and its peak in TFLOP/s where it is known or given."""
    import torch

    gpu = options.device != "cpu" and torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine()
    peak = given_peak or next((value for start, value in PEAKS.items() if name.startswith(start)), None)
    packages = ("tokbench", "torch", "llm-foundry", "mosaicml", "transformers", "numpy")
    known = {dist.metadata["Name"] for dist in importlib.metadata.distributions()}
    return {
        "device": name,
        "peak_tflops": peak,
        "matmul_tflops": matmul_tflops() if gpu else None,
        "cuda": torch.version.cuda if gpu else None,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages if name in known},
        "options": options.model_dump(mode="json"),
    }, peak


def matmul_tflops(side: int = 8192, times: int = 20) -> float:
    """What the device does of its peak: TFLOP/s of a product of two square bfloat16 matrices of random numbers."""
    import torch

    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(times):
        a @ b
    end.record()
    torch.cuda.synchronize()
    return 2 * side**3 * times / (start.elapsed_time(end) / 1000) / 1e12
