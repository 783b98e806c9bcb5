import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.crew import Crew

class Shares(Crew):
    """The state of the method; its arrays are those of :func:`tokbench.kernels.edges.token_edges`."""

    def __init__(
        self,
        bounds: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        first: NDArray[np.int64],  # [nodes + 1]
        starts: NDArray[np.int32],  # [edges]
        tokens: NDArray[np.int32],  # [edges]
        shares: NDArray[np.float64],  # [tokens]
        potentials: NDArray[np.float64],  # [nodes]
        limit: int,
        threads: int = 1,
    ) -> None: ...
    def advance(self, steps: int) -> None:
        """Take some steps."""
    def shares(self) -> NDArray[np.float64]:
        """Float64 [tokens], from 0 to 1: those of the last step."""
    def tokens_of(self, scale: int) -> int:
        """What the text takes with shares in units of 1 / ``scale`` and flows that keep to them."""
