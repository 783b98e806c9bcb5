import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.kernels.scan import Scanner

def set_width(most: int) -> str:
    """Let masks be made of vectors of at most so many bytes, 0 to 64; say which are taken. All give the same masks."""

class PatternScanner(Scanner):
    """A pattern's scanner."""

    def __init__(
        self,
        index: ArrayLike,
        blocks: ArrayLike,
        steps: NDArray[np.uint32],
        worlds: ArrayLike,
        settled: ArrayLike,
        closing: int,
        loads: ArrayLike,
        operations: ArrayLike,
        results: ArrayLike,
    ) -> None: ...
    def steps_over(self, text: bytes) -> int:
        """How many steps through the automaton a text takes from end to end, without masks."""
