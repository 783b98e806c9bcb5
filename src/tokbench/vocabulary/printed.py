"""The order of the bytes in Hugging Face's trainers: that of the characters that GPT-2 prints for them."""

import numpy as np
from numpy.typing import NDArray

PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""The bytes that GPT-2 prints as the character of the same code point; the others follow from U+0100, in order."""


def printed_ranks() -> NDArray[np.int64]:
    """int64 [256], the place of each byte among ties: by code point of its printed character."""
    order = (*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE))
    return np.argsort(np.array(order)).astype(np.int64)
