import numpy as np
from numpy.typing import NDArray

class Addends:
    """Room for one number an edge."""

    def __init__(
        self,
        tokens: NDArray[np.int32],  # [edges]
        kinds: int,
        firsts: NDArray[np.int64],  # [tasks + 1]
    ) -> None: ...
