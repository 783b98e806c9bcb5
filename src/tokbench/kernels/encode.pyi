import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.scan import Scanner
from tokbench.kernels.segmenter import PretokenSegmenter

def document_number(text: bytes | NDArray[np.uint8]) -> int:
    """The number by which methods that draw at random tell a document from others: a hash of its bytes."""

class Encoder:
    """Cuts texts into tokens; not to be shared between threads."""

    def __init__(
        self,
        scanner: Scanner,
        segmenter: PretokenSegmenter,
        remembered: int = 200_000,
        numbers: NDArray[np.int32] | None = None,  # [tokens]
    ) -> None: ...
    def __len__(self) -> int:
        """Pre-tokens remembered."""

    def encode(
        self,
        text: bytes | NDArray[np.uint8],
        start: int = 0,
        end: int | None = None,
        document: int | None = None,
    ) -> NDArray[np.int32]:
        """Ids of a text, or of the part between two of its boundaries."""

    def count(
        self,
        text: bytes | NDArray[np.uint8],
        start: int = 0,
        end: int | None = None,
        document: int | None = None,
    ) -> int:
        """How many tokens a text has, without keeping them; for the rest see :meth:`encode`."""
