"""Strict parsing of numbers: plain decimal digits within bounds.

``int()`` and ``float()`` also accept ``1_000``, ``+5``, digits of other scripts, surrounding blanks, ``nan`` and
``infinity``. Here an integer is written ``1024`` or ``-3``, and a real number ``0.5``, ``6e-4`` or like an integer. The
caller sets the bounds.
"""

import math
import operator
import re
from fractions import Fraction
from typing import Any

from tokbench.errors import TokbenchError, shortened

LARGEST_VOCABULARY = 1 << 24
"""Maximum vocabulary size: ids are int32, and tables of this length fit into memory."""
LARGEST_COUNT = (1 << 31) - 1
"""Maximum of counts that require memory or time: steps, batches, shards, lines."""
LARGEST_BYTES = (1 << 63) - 1
"""Maximum number of bytes or documents, which are counted in 64 bits."""
LARGEST_SEED = (1 << 64) - 1
"""Maximum seed of the kernels' generators, 64 bits."""
LARGEST_LEGACY_SEED = (1 << 32) - 1
"""Maximum seed of the language-model stack, which uses NumPy's legacy generator."""
HIGHEST_NGRAM_ORDER = 5
"""Maximum order of token n-gram models."""
LONGEST_SEQUENCE = 1 << 24
"""Maximum sequence length of a language model in tokens."""
MOST_THREADS = 1024
"""Maximum number of threads, more than current machines run in one process."""

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
REAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
BYTE_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.ASCII)
UNITS = {prefix: 1000**power for power, prefix in enumerate(["", "K", "M", "G", "T"])} | {
    f"{prefix}i": 1024**power for power, prefix in enumerate(["K", "M", "G", "T"], 1)
}
"""Bytes of a unit: powers of 1,000, or of 1,024 with ``i``, as in ``GiB``."""
DIGITS = 20
"""Digits of the largest 64-bit number. Longer ones are rejected before conversion, whose time is quadratic."""


def whole_number(text: str, least: int | None = None, most: int = LARGEST_COUNT) -> int:
    """Parse an integer.

    Raises:
        ValueError: the text is not an integer, or out of bounds; the message starts with the text and names the bounds.
    """
    if not INTEGER.fullmatch(text):
        raise ValueError(f"'{shortened(text)}' is not a whole number; write plain digits, as in 1024")
    if len(text.lstrip("-")) > DIGITS:
        raise ValueError(f"'{shortened(text)}' is not {_between(least, most)}")
    value = int(text)
    if value > most or (least is not None and value < least):
        raise ValueError(f"'{text}' is not {_between(least, most)}")
    return value


def byte_size(value: Any) -> Any:
    """Return the bytes of a size with a unit, such as ``2GB``, ``1.5 GB`` or ``512MiB``; other values unchanged.

    Raises:
        ValueError: a text is not of this form.
    """
    if not isinstance(value, str):
        return value
    match = BYTE_SIZE.fullmatch(value)
    if match is None:
        raise ValueError(f"'{shortened(value)}' is not a number of bytes; write it as in 2000000, 2MB or 1.5GB")
    return int(Fraction(match[1]) * UNITS[match[2][:-1].upper().replace("I", "i")])


def whole_argument(name: str, value: Any, least: int, most: int) -> int:
    """Return an integer argument of a Python function; ``True``, ``3.0`` and ``"3"`` are rejected.

    Raises:
        TokbenchError: it is not an integer, or out of bounds; the message names the argument.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or not least <= whole <= most:
        raise TokbenchError(f"{name} {value!r:.60}: must be a whole number {_between(least, most)}")
    return whole


def real_number(text: str, least: float | None = None, most: float | None = None) -> float:
    """Parse a finite number.

    Raises:
        ValueError: the text is not a number, not finite, or out of bounds; the message starts with the text.
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
