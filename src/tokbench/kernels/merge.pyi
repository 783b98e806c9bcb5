import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.abreast import Abreast
from tokbench.kernels.derivations import Derivations
from tokbench.kernels.segmenter import PretokenSegmenter

class MergeSegmenter(PretokenSegmenter):
    """Repeatedly joins the adjacent pair of the lowest rank, the leftmost of several, until no pair has one."""

    @property
    def derivations(self) -> Derivations | None: ...
    @property
    def abreast(self) -> Abreast | None: ...
    def __init__(
        self,
        merges: NDArray[np.int32],  # [m, 3]
        byte_ids: NDArray[np.int32],  # [256]
        joined: NDArray[np.uint8],  # [65536]
        by_result: bool = False,
        derive: bool = True,
    ) -> None: ...
