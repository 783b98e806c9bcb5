"""Built-in pre-tokenizations: those of "Tokenization Is More Than Compression" (section 3.1) and of GPT-2.

Whitespace is a character with the property White_Space, a letter one of category L, a number one of N, a digit one of
Nd. The look-ahead ``\\s+(?!\\S)`` leaves the last whitespace character of a run to the next pre-token, which includes
it if it is a space.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.scan import Scanner, Scheme, SchemeScanner, boundaries
from tokbench.pretokenization import pretokenization

KERNEL_SCHEMES: dict[str, Scanner] = {
    name.lower(): SchemeScanner(scheme) for name, scheme in Scheme.__members__.items()
}
"""Scanners of the pre-tokenizations implemented in kernels, which need no call into Python."""


@pretokenization("none", pattern=None, scanner=KERNEL_SCHEMES["none"], cites=())
def none(text: bytes) -> NDArray[np.int64]:
    """No pre-tokenization: each document is one pre-token."""
    return boundaries(KERNEL_SCHEMES["none"], text)


@pretokenization("space", pattern=r" |[^ ]+", scanner=KERNEL_SCHEMES["space"], cites=("schmidt2024",))
def space(text: bytes) -> NDArray[np.int64]:
    """Every space is one pre-token; so is the text between two spaces, including line breaks and tabs."""
    return boundaries(KERNEL_SCHEMES["space"], text)


@pretokenization("digit", pattern=r"\d|[^\d]+", scanner=KERNEL_SCHEMES["digit"], cites=("schmidt2024",))
def digit(text: bytes) -> NDArray[np.int64]:
    """Every digit is one pre-token; so is the text between two digits, including spaces."""
    return boundaries(KERNEL_SCHEMES["digit"], text)


@pretokenization("space_digit", pattern=r" |\d|[^ \d]+", scanner=KERNEL_SCHEMES["space_digit"], cites=("schmidt2024",))
def space_digit(text: bytes) -> NDArray[np.int64]:
    """Every space and every digit is one pre-token; so is the text between them."""
    return boundaries(KERNEL_SCHEMES["space_digit"], text)


@pretokenization(
    "first_space", pattern=r" ?\S+|\s+(?!\S)|\s+", scanner=KERNEL_SCHEMES["first_space"], cites=("schmidt2024",)
)
def first_space(text: bytes) -> NDArray[np.int64]:
    """Runs of characters that are not whitespace, each with the space before it."""
    return boundaries(KERNEL_SCHEMES["first_space"], text)


@pretokenization(
    "first_space_digit",
    pattern=r"\d| ?[^\s\d]+|\s+(?!\S)|\s+",
    scanner=KERNEL_SCHEMES["first_space_digit"],
    cites=("schmidt2024",),
)
def first_space_digit(text: bytes) -> NDArray[np.int64]:
    """As first_space, but every digit is one pre-token; a space before a digit is one, too."""
    return boundaries(KERNEL_SCHEMES["first_space_digit"], text)


@pretokenization(
    "gpt2",
    pattern=r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    scanner=KERNEL_SCHEMES["gpt2"],
    cites=("radford2019",),
)
def gpt2(text: bytes) -> NDArray[np.int64]:
    """GPT-2: runs of letters, of numbers and of other characters, each with the space before it; contractions.

    The pattern is that of OpenAI's encoder for GPT-2, without a prefix space.
    """
    return boundaries(KERNEL_SCHEMES["gpt2"], text)
