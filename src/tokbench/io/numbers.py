"""Numbers from outside: plain decimal digits within stated bounds, and no other spelling of them.

``int()`` and ``float()`` read more than a reader of a command or a file sees there: ``1_000``, ``+5``, digits of other
scripts, blanks around them, ``nan`` and ``infinity``. Here a whole number is ``1024`` or ``-3``, a real one ``0.5``,
``6e-4`` or a whole one, and each lies between bounds that whoever asks for it names.
"""

import math
import operator
import re
from typing import Any

from tokbench.errors import TokbenchError, shortened

LARGEST_VOCABULARY = 1 << 24
"""Tokens of the largest vocabulary that can be asked for: ids are int32, and tables of this length fit into memory."""
LARGEST_COUNT = (1 << 31) - 1
"""The most that anything may be asked for that is counted out in memory or in time: steps, batches, shards, lines."""
LARGEST_BYTES = (1 << 63) - 1
"""The most bytes or documents: they are counted in 64 bits."""
LARGEST_SEED = (1 << 64) - 1
"""The kernels' generators take seeds of 64 bits."""
LARGEST_LEGACY_SEED = (1 << 32) - 1
"""What the language-model stack takes as a seed: NumPy's old generator."""
HIGHEST_NGRAM_ORDER = 5
"""Of token n-gram models."""
LONGEST_SEQUENCE = 1 << 24
"""Tokens of the longest sequence that a language model reads."""
MOST_THREADS = 1024
"""More threads than any machine of today runs at once in one process."""

WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
REAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
DIGITS = 20
"""Digits of the largest number of 64 bits; more are not converted, which takes time that grows with their square."""


def whole_number(text: str, least: int | None = None, most: int = LARGEST_COUNT) -> int:
    """The whole number that a text is.

    Raises:
        ValueError: it is none, or beyond the bounds; the message says what was expected, and starts with the text.
    """
    if not WHOLE.fullmatch(text):
        raise ValueError(f"'{shortened(text)}' is not a whole number; write plain digits, as in 1024")
    if len(text.lstrip("-")) > DIGITS:
        raise ValueError(f"'{shortened(text)}' is not {_between(least, most)}")
    value = int(text)
    if value > most or (least is not None and value < least):
        raise ValueError(f"'{text}' is not {_between(least, most)}")
    return value


def whole_argument(name: str, value: Any, least: int, most: int) -> int:
    """The whole number that a caller in Python gave; neither ``True`` nor ``3.0`` nor ``"3"`` is one.

    Raises:
        TokbenchError: it is none, or beyond the bounds; the message names the argument.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or not least <= whole <= most:
        raise TokbenchError(f"{name} {value!r:.60}: must be a whole number {_between(least, most)}")
    return whole


def real_number(text: str, least: float | None = None, most: float | None = None) -> float:
    """The finite number that a text is.

    Raises:
        ValueError: it is none, not finite, or beyond the bounds; the message starts with the text.
    """
    if not REAL.fullmatch(text) or not math.isfinite(value := float(text)):
        raise ValueError(f"'{shortened(text)}' is not a finite number; write it as in 0.5 or 6e-4")
    if (most is not None and value > most) or (least is not None and value < least):
        raise ValueError(f"'{shortened(text)}' is not {_between(least, most)}")
    return value


def _between(least: float | None, most: float | None) -> str:
    if least is None:
        return f"at most {most}"
    return f"at least {least}" if most is None else f"from {least} to {most}"
