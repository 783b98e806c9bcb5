import numpy as np
from numpy.typing import NDArray

def decimals(ids: NDArray[np.int32]) -> bytes:
    """Ids, none of them negative, as decimal numbers with a space between two."""

def from_decimals(text: bytes | NDArray[np.uint8]) -> NDArray[np.int64]:
    """Decimal numbers between blanks, each with a sign or none."""

def joined(
    ids: NDArray[np.int64],  # [n]
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [tokens + 1]
) -> bytes:
    """The bytes of tokens, end to end."""
