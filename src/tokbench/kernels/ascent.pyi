import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.crew import Crew

class Ascent(Crew):
    """The state of an ascent; its arrays are those of :func:`tokbench.kernels.edges.token_edges`."""

    def __init__(
        self,
        bounds: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        first: NDArray[np.int64],  # [nodes + 1]
        starts: NDArray[np.int32],  # [edges]
        tokens: NDArray[np.int32],  # [edges]
        kinds: int,
        limit: int,
        threads: int = 1,
    ) -> None: ...
    @property
    def lower(self) -> float:
        """The best bound so far, in floating point and over the given tokens only: no proof, see ``potentials``."""
    @property
    def price(self) -> float:
        """What a place in the vocabulary is worth: the last price of those that are let in."""
    @property
    def taken_steps(self) -> int:
        """Steps taken so far."""
    def potentials(self) -> NDArray[np.float64]:
        """Float64 [nodes], for every node the cost of the bytes before it under the best prices so far."""
    def token_prices(self) -> NDArray[np.float64]:
        """Float64 [tokens], the sum of each token's prices in the last step."""
    def token_usage(self) -> NDArray[np.float64]:
        """Float64 [tokens], how often each was in the vocabulary of late, from 0 to 1."""
    def advance(self, steps: int, upper: float) -> None:
        """Take some steps."""
