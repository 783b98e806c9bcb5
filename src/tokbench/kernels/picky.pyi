import numpy as np
from numpy.typing import NDArray

class Training:
    """One training run."""

    def __init__(
        self,
        text: NDArray[np.int32],  # [n]
        offsets: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        ranks: NDArray[np.int64],  # [alphabet]
        threshold: float,
    ) -> None: ...
    def run(self, size: int) -> None:
        """Merge the most frequent pair, again and again, until ``size`` tokens are present or no pair is left."""

    def history(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """What happened so far."""

    def state(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """The tokens so far, removed ones included, in order of first creation."""
