import numpy as np
from numpy.typing import NDArray

def find_spans(
    text: bytes | NDArray[np.uint8],  # [n]
    signal: NDArray[np.float32],  # [n]
    bounds: NDArray[np.int64],
    threshold: float,
    fall: float,
    peaks: bool = True,
) -> NDArray[np.int64]:
    """The spans of one document, cut at pre-token starts; single bytes that remain are left out."""

class SpanCounter:
    """How often each span occurs, apart by whether it starts a pre-token."""

    def add(
        self,
        text: bytes | NDArray[np.uint8],  # [n]
        signal: NDArray[np.float32],  # [n]
        bounds: NDArray[np.int64],
        threshold: float,
        fall: float,
        peaks: bool = True,
    ) -> None:
        """Count the spans of one document, as :func:`find_spans` gives them."""

    def absorb(self, other: SpanCounter) -> None:
        """Add what another has counted."""

    def __len__(self) -> int: ...
    def commonest(self, limit: int) -> list[tuple[bytes, bool, int]]:
        """Up to ``limit`` (bytes, inside a pre-token, count): count descending, bytes, those that start one first."""

class Segments:
    """Segments of active bytes, growing as bytes become active, and how often each is there now."""

    @property
    def frequent(self) -> int: ...
    def __init__(
        self,
        text: bytes | NDArray[np.uint8],  # [n]
        starts: NDArray[np.uint8],  # [n]
        least: int,
    ) -> None: ...
    def activate(self, positions: NDArray[np.int64]) -> None:
        """Make bytes active, each for the first time, one after another."""

    def commonest(self, limit: int) -> list[tuple[bytes, bool, int]]:
        """Up to ``limit`` frequent (bytes, inside a pre-token, count), ordered as by :class:`SpanCounter`."""
