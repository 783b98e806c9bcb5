from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

class Scheme(IntFlag):
    NONE = 0
    SPACE = 1
    DIGIT = 2
    SPACE_DIGIT = 3
    FIRST_SPACE = 4
    FIRST_SPACE_DIGIT = 5
    GPT2 = 6

def settled_after(scheme: Scheme, text: bytes | NDArray[np.uint8], place: int) -> int: ...
def settled_before(scheme: Scheme, text: bytes | NDArray[np.uint8], place: int) -> int:
    """The last place before ``place`` where a text can be cut (see :func:`settled_after`); 0 where there is none."""

def boundaries(scheme: Scheme, text: bytes) -> NDArray[np.int64]:
    """Where the pre-tokens of a text start and end."""
