"""One GPU: what it is and what it can do."""

import importlib.metadata
import os
import platform
from typing import Any

from tokbench.gauge import peak_of
from tokbench.pretraining.options import ModelOptions


def described(options: ModelOptions, given_peak: float | None) -> tuple[dict[str, Any], float | None]:
    """The machine, and its peak in TFLOP/s where it is known or given."""
    import torch

    gpu = options.device != "cpu" and torch.cuda.is_available()
    name = torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine()
    peak = given_peak or peak_of(name)
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
