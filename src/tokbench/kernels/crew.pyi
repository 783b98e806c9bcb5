import numpy as np
from numpy.typing import NDArray

class Crew:
    """A subclass says what to lead is, and what a task is."""

    def __init__(
        self,
        bounds: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        first: NDArray[np.int64],  # [nodes + 1]
        starts: NDArray[np.int32],  # [edges]
        tokens: NDArray[np.int32],  # [edges]
        kinds: int,
        threads: int = 1,
    ) -> None: ...
