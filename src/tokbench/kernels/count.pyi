import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.scan import Scanner

MOST_COUNTED: int
"""What the counts may add up to, each times the bytes of its pre-token and one: sums over a text stay in 63 bits."""

SLOT_BYTES: int
"""What the table holds for each slot; :func:`pretokens_in` says how many pre-tokens so many slots take."""

def pretokens_in(slots: int) -> int:
    """Pre-tokens that a table of so many slots takes before it grows."""

class Counter:
    """Counts of pre-tokens, fed document by document; not to be shared between threads."""

    @property
    def weight(self) -> int:
        """The counts, each times the bytes of its pre-token and one, of what was ever given."""

    @property
    def wanted(self) -> int:
        """Bytes of the pre-token for which the lease had no room; 0 where the number of pre-tokens is at its end."""

    def __init__(self, scanner: Scanner | None = None) -> None: ...
    def __len__(self) -> int: ...
    @property
    def slots(self) -> int:
        """Slots of the table."""

    @property
    def held(self) -> int:
        """Bytes of memory."""

    def lease(self, most: int, most_bytes: int) -> None:
        """Stop from now on before the table has more pre-tokens, or more bytes of those longer than a slot takes."""

    def add(self, text: bytes, start: int = 0) -> int:
        """Cut a document into pre-tokens and count them from a boundary on; return that at which the lease ended."""

    def add_pretokens(
        self,
        data: NDArray[np.uint8],  # [bytes]
        offsets: NDArray[np.int64],  # [n + 1]
        counts: NDArray[np.int64] | None = None,  # [n]
        start: int = 0,
    ) -> int:
        """Count pre-tokens that are cut already, from one on; return that at which the lease ended."""

    def spill(self, path: bytes, wider: bool = False) -> None:
        """Write what is counted to a run, sorted by bytes, and go on with an empty table."""

    def counts(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The pre-tokens counted so far, by count descending, then by bytes ascending."""
