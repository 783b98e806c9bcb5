import numpy as np
from numpy.typing import NDArray

class Derivations:
    """How each token is made by merges."""

    @property
    def complete(self) -> bool: ...
    @property
    def count(self) -> int: ...
    def __init__(
        self,
        merges: NDArray[np.int32],  # [m, 3]
        byte_ids: NDArray[np.int32],  # [256]
        by_result: bool = False,
    ) -> None: ...
