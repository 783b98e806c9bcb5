import numpy as np
from numpy.typing import NDArray

def whole_sum(
    values: NDArray[np.float64],  # [n]
) -> int:
    """The sum of finite numbers, in units of 2**-1074."""
