"""Initial vocabularies of top-down constructions, and the sizes to which they cut them down.

What the kernels can address, and how a method says that a text or an alphabet is too large for it.
"""

from collections.abc import Iterator, Sequence, Sized
from itertools import pairwise

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PAPER_INITIAL_SIZE = 262_144


def fitting(initial: Vocabulary, max_token_bytes: int) -> tuple[bytes, ...]:
    """The initial vocabulary's tokens that are short enough: the 256 bytes first, the others in their own order."""
    return (*BYTES, *[token for token in initial.tokens if 1 < len(token) <= max_token_bytes])


def schedule(initial_size: int, size: int) -> Iterator[int]:
    """Sizes of the vocabulary after each batch of omissions, from below ``initial_size`` down to ``size``.

    The sizes are multiples of a step: 8,192 from 65,536 down to 16,384, elsewhere an eighth of the least power of two
    that is not below the present size. From 262,144 this gives the published runs' 229,376, 196,608, 163,840, 131,072,
    114,688, 98,304, 81,920, 65,536, 57,344, ..., 16,384, so that smaller vocabularies of one run are cut from larger
    ones, and goes on below. The last size is ``size`` itself; none is given when ``initial_size`` is not larger.
    """
    present = initial_size
    while present > size:
        step = 8192 if 16384 < present <= 65536 else max(1, (1 << (present - 1).bit_length()) // 8)
        present = max(size, (present - 1) // step * step)
        yield present


def own_schedule(sizes: Sequence[int], initial_size: int, size: int) -> Iterator[int]:
    """The entries of a user's schedule that lie between the two sizes, then ``size``."""
    if initial_size > size:
        yield from (entry for entry in sizes if size < entry < initial_size)
        yield size


def check_descending(sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Reject a schedule that does not descend (for options' validators)."""
    if sizes is not None and any(later >= earlier for earlier, later in pairwise(sizes)):
        raise ValueError("sizes must descend, each smaller than the one before")
    return sizes


def check_size(size: int) -> None:
    """Reject a size that the 256 bytes alone exceed.

    Raises:
        TokbenchError: ``size`` is below 256.
    """
    if size < len(BYTES):
        raise TokbenchError(f"vocabulary size {size} is below 256, the number of single bytes; ask for 256 or more")


MAX_BYTES = 2**31 - 1
"""Bytes of unique pre-tokens that a kernel with places of 32 bits can address."""


def check_bytes(counts: PretokenCounts, method: str) -> None:
    """Reject pre-tokens that a kernel cannot address.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    if counts.data.size > MAX_BYTES:
        raise TokbenchError(
            f"{method}: the unique pre-tokens come to {counts.data.size} bytes, the limit is {MAX_BYTES}; "
            "use a pre-tokenization with shorter pre-tokens or a smaller tokenizer split"
        )


def check_longest(counts: PretokenCounts, limit: int, method: str) -> None:
    """Reject a pre-token that a kernel cannot measure.

    Raises:
        TokbenchError: a pre-token is longer than ``limit`` bytes.
    """
    longest = int(np.diff(counts.offsets).max(initial=0))
    if longest > limit:
        raise TokbenchError(
            f"{method}: a pre-token has {longest} bytes, the limit is {limit}; use a pre-tokenization that cuts it"
        )


def check_alphabet(alphabet: Sized, size: int, method: str) -> None:
    """Reject a vocabulary that its bytes and characters alone would fill.

    Raises:
        TokbenchError: the alphabet is larger than ``size``.
    """
    if len(alphabet) > size:
        raise TokbenchError(
            f"{method}: the alphabet of {len(alphabet)} bytes and characters exceeds the vocabulary size {size}; "
            "lower character_coverage or raise the size"
        )
