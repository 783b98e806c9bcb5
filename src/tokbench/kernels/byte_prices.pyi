import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.ascent import Ascent

class BytePrices(Ascent):
    """The state of the ascent; its arrays are those of :func:`tokbench.kernels.edges.token_edges`."""

    def __init__(
        self,
        bounds: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        first: NDArray[np.int64],  # [nodes + 1]
        starts: NDArray[np.int32],  # [edges]
        tokens: NDArray[np.int32],  # [edges]
        kinds: int,
        limit: int,
        potentials: NDArray[np.float64],  # [nodes]
        threads: int = 1,
    ) -> None: ...
