import numpy as np
from numpy.typing import NDArray

class PretokenSegmenter:
    """Cuts pre-tokens into tokens. Immutable, hence safe to use from any number of threads at once."""

    @property
    def placed(self) -> bool: ...
    def segment(
        self,
        data: NDArray[np.uint8],  # [bytes]
        offsets: NDArray[np.int64],  # [n + 1]
        document: int | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment n pre-tokens, without the interpreter's lock."""
