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

class Scanner:
    """Cuts a text into pre-tokens; this one takes it whole. Immutable, hence safe to share between threads."""

    @property
    def settles(self) -> bool:
        """Whether there is any place at which some text can be cut (see :func:`settled_after`)."""

class SchemeScanner(Scanner):
    """The scanner of a built-in scheme."""

    @property
    def scheme(self) -> int:
        """A member of :class:`Scheme`."""

    def __init__(self, scheme: Scheme) -> None: ...

def settled_after(scanner: Scanner, text: bytes | NDArray[np.uint8], place: int) -> int: ...
def settled_before(scanner: Scanner, text: bytes | NDArray[np.uint8], place: int) -> int:
    """The last place before ``place`` where a text can be cut (see :func:`settled_after`); 0 where there is none."""

def boundaries(scanner: Scanner, text: bytes) -> NDArray[np.int64]:
    """Where the pre-tokens of a text start and end."""
