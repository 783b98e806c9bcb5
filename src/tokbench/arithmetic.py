"""How long arithmetic takes, for what jobs of models ask for: reckoned, not measured on the machine at hand."""

from typing import Literal

PROCESSOR = 2e10
"""Floating-point operations a second of one thread in float32: half of the 4e10 measured."""
GPU = {"bf16": 1e14, "fp32": 6.5e12}
"""Those of an A100: a third of the 312 and 19.5 TFLOP/s of its data sheet."""


def seconds(operations: float, precision: Literal["fp32", "bf16"], threads: int | None) -> float:
    """Seconds of so many floating-point operations.

    Args:
        operations: of one process.
        precision: of matrix products.
        threads: of a processor; None on a GPU.
    """
    return operations / (GPU[precision] if threads is None else PROCESSOR * threads)
