import numpy as np
from numpy.typing import NDArray

def repeats(
    data: NDArray[np.uint8],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    max_length: int,
    whole_characters: bool,
    by_occurrence: bool,
    distinct_ends: bool,
) -> NDArray[np.int64]:
    """Substrings that occur repeatedly and could not be longer: some two occurrences are followed differently."""
