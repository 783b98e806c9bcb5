from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Share = Callable[[Callable[[int], object], Iterable[int]], object]

class Trie:
    """An immutable trie of tokens."""

    @property
    def nodes(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    def __init__(
        self,
        data: NDArray[np.uint8],  # [bytes]
        offsets: NDArray[np.int64],  # [tokens + 1]
        included: NDArray[np.bool_] | None = None,  # [tokens]
        backwards: bool = False,
        share: Share | None = None,
    ) -> None: ...
    @property
    def slots(self) -> int:
        """Units of 12 bytes that the trie occupies."""

    @property
    def max_length(self) -> int:
        """Bytes of the longest token held; 0 for none."""

    def prefixes(self, text: bytes | NDArray[np.uint8]) -> list[tuple[int, int]]:
        """The tokens that ``text`` starts with, as (length in bytes, id), shortest first."""

    def find(self, token: bytes | NDArray[np.uint8]) -> int:
        """Id of ``token``, or -1 where the trie does not hold it."""
