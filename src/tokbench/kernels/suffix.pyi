import numpy as np
from numpy.typing import NDArray

class Suffixes:
    """The suffixes of counted words, and the substrings that are found in them."""

    def __init__(
        self,
        data: NDArray[np.uint8],  # [n]
        offsets: NDArray[np.int64],  # [words + 1]
        counts: NDArray[np.int64],  # [words]
        edges: NDArray[np.int64],  # [parts + 1]
        max_length: int,
        whole_characters: bool,
        by_occurrence: bool,
        distinct_ends: bool,
    ) -> None: ...
    def tally(self, part: int) -> None:
        """Count the suffixes of a part by their first two bytes."""

    def place(self) -> None:
        """Give each part its places among the suffixes, those of all parts before it first."""

    def put(self, part: int) -> None:
        """Put the suffixes of a part in their places."""

    def divide(self) -> int:
        """Visit the largest nodes; returns how many trees are left to search."""

    def search(self, tree: int) -> None:
        """Visit the nodes of a tree."""

    def found(self) -> NDArray[np.int64]:  # [m, 4]
        """The substrings found."""
