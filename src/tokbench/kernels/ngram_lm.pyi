import numpy as np
from numpy.typing import NDArray

MAX_ORDER: int

class WindowCounter:
    """How often each window occurs."""

    def __init__(self, order: int) -> None: ...
    @property
    def size(self) -> int:
        """Different windows so far."""

    def add(self, text: bytes | NDArray[np.uint8], first: int = 0, last: int | None = None) -> None:
        """Count the windows of one document that end at its bytes ``first`` to ``last``, the latter left out.

        Raises:
            ValueError: the document has no such bytes.
        """

    def counts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """uint64 [n] windows, ascending; int64 [n] their counts."""

class ByteNgramModel:
    """Surprisal and entropy by an interpolated model; not to be shared between threads."""

    def __init__(
        self,
        windows: NDArray[np.uint64],  # [n]
        counts: NDArray[np.int64],  # [n]
        order: int,
    ) -> None: ...
    def score(self, text: bytes | NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Surprisal of each byte of a document and entropy of the distribution it is drawn from."""
