import numpy as np
from numpy.typing import NDArray

BLOCK: int

MAX_DIMENSIONS: int

def alias_table(
    weights: NDArray[np.float64],  # [n]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Walker's alias table (Vose's construction), to draw from a discrete distribution in constant time."""

def train(
    ids: NDArray[np.int32],  # [n]
    bounds: NDArray[np.int64],  # [sentences + 1]
    tokens: int,
    *,
    dimensions: int = 50,
    negatives: int = 15,
    window: int = 5,
    epochs: int = 5,
    sample: float = 1e-3,
    rate: float = 0.025,
    least_rate: float = 1e-4,
    seed: int = 0,
    width: int = 16,
) -> NDArray[np.float32]:
    """Embeddings of tokens from sentences."""
