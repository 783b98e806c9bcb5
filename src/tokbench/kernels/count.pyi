import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.scan import Scheme

MOST_COUNTED: int
"""What the counts may add up to, each times the bytes of its pre-token and one: sums over a text stay in 63 bits."""

class Counter:
    """Counts of pre-tokens, fed document by document; not to be shared between threads."""

    def __init__(self, scheme: Scheme = Scheme.NONE) -> None: ...
    def __len__(self) -> int: ...
    def add(self, text: bytes) -> None:
        """Cut a document into pre-tokens and count them."""

    def add_pretokens(
        self,
        data: NDArray[np.uint8],  # [bytes]
        offsets: NDArray[np.int64],  # [n + 1]
        counts: NDArray[np.int64] | None = None,  # [n]
    ) -> None:
        """Count pre-tokens that are cut already."""

    def counts(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The pre-tokens counted so far, by count descending, then by bytes ascending."""
