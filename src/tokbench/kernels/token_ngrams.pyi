import numpy as np
from numpy.typing import NDArray

MAX_ORDER: int
MAX_SYMBOLS: int
MAX_PLACES: int
RECORD_BYTES: int

class TokenNgrams:
    """Models of the orders 1 to ``order``, which score the text that follows the one they are trained on."""

    def __init__(
        self,
        stream: NDArray[np.int32],  # [n]
        trained: int,
        symbols: int,
        vocabulary: int,
        order: int,
    ) -> None: ...
    def unseen(self) -> int:
        """How many tokens of the text that is scored, ends left out, the training text has nowhere."""

    def unused(self) -> int:
        """How many of the symbols, those that begin and end documents left out, the training text has nowhere."""

    def most_after(self) -> int:
        """Places that follow the one token that most follow."""

    def bits(
        self,
        held: int = 4398046511104,
        probabilities: NDArray[np.float64] | None = None,  # [places that are scored, order]
    ) -> NDArray[np.float64]:
        """Bits of each document that is scored, its end included, by the model of each order."""

def ranges_of(starts: NDArray[np.int64], held: int) -> list[tuple[int, int]]:
    """Ranges of tokens, each with as many places after them as may be held, or a token by itself."""
