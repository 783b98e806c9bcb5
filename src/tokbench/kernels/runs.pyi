import numpy as np
from numpy.typing import NDArray

RANKED_BYTES: int
"""What :meth:`Merge.resort` holds for each pre-token beside its bytes."""

def give_back() -> None:
    """Hand memory that was freed back to the system, where the C library would keep some for later."""

class Merge:
    """The pre-tokens of sorted runs, in the order that the runs have."""

    @property
    def unique(self) -> int:
        """Pre-tokens taken so far."""

    @property
    def total(self) -> int:
        """Occurrences of those."""

    @property
    def total_bytes(self) -> int:
        """Bytes of those in the text."""

    @property
    def wanted(self) -> int:
        """Bytes of the pre-token for which :meth:`fill` had no room; 0 where that is not why it ended."""

    def __init__(self, paths: list[bytes], by_count: bool = False, buffer: int = 1 << 18) -> None: ...
    def fill(
        self,
        data: NDArray[np.uint8],  # [bytes]
        offsets: NDArray[np.int64],  # [n + 1]
        counts: NDArray[np.int64],  # [n]
        rows: int = 0,
    ) -> int:
        """Write the next pre-tokens behind those that arrays hold already; return how many they hold now."""

    def resort(self, path: bytes, room: int, most: int = 4611686018427387904) -> bool:
        """Write the next pre-tokens into one run of canonical order; return whether there were any."""

    def write(self, path: bytes) -> None:
        """Write all that is left into one run of the same order."""

    def drain(self) -> None:
        """Pass over all that is left."""
