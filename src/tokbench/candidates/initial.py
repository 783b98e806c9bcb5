"""Initial vocabularies of top-down constructions, the sizes of their batches, and size limits of the kernels."""

from collections.abc import Iterator, Sequence, Sized
from itertools import pairwise

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PAPER_INITIAL_SIZE = 262_144
MAX_BYTES = 2**31 - 1
"""Largest total size of the unique pre-tokens for a kernel with 32-bit positions."""


def fitting_tokens(initial: Vocabulary, max_token_bytes: int) -> tuple[bytes, ...]:
    """Return the tokens of an initial vocabulary that are short enough: the 256 bytes first, then the others in their
    order."""
    return (*BYTES, *[token for token in initial.tokens if 1 < len(token) <= max_token_bytes])


def schedule(initial_size: int, size: int) -> Iterator[int]:
    """Yield the vocabulary sizes after each batch, from below ``initial_size`` down to ``size``.

    The sizes are multiples of a step. It is 8,192 from 65,536 down to 16,384, and otherwise an eighth of the smallest
    power of two not below the current size. From 262,144 this yields the published runs' 229,376, 196,608, 163,840,
    131,072, 114,688, 98,304, 81,920, 65,536, 57,344, ..., 16,384, and continues below. Smaller vocabularies of one run
    are thus cut from larger ones. The last size is ``size``. Nothing is yielded if ``initial_size`` is not larger.
    """
    present = initial_size
    while present > size:
        step = 8192 if 16384 < present <= 65536 else max(1, (1 << (present - 1).bit_length()) // 8)
        present = max(size, (present - 1) // step * step)
        yield present


def own_schedule(sizes: Sequence[int], initial_size: int, size: int) -> Iterator[int]:
    """Yield the entries of a user's schedule between the two sizes, then ``size``."""
    if initial_size > size:
        yield from (entry for entry in sizes if size < entry < initial_size)
        yield size


def check_descending(sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Reject a schedule that does not descend (a validator of options).

    Raises:
        ValueError: a size is not smaller than the previous one.
    """
    if sizes is not None and any(later >= earlier for earlier, later in pairwise(sizes)):
        raise ValueError("sizes must descend, each smaller than the one before")
    return sizes


def check_size(size: int) -> None:
    """Reject a size that is smaller than the number of bytes.

    Raises:
        TokbenchError: ``size`` is below 256.
    """
    if size < len(BYTES):
        raise TokbenchError(f"vocabulary size {size} is below 256, the number of single bytes; ask for 256 or more")


def check_bytes(counts: PretokenCounts, method: str) -> None:
    """Reject pre-tokens that a kernel cannot address.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more.
    """
    if counts.data.size > MAX_BYTES:
        raise TokbenchError(
            f"{method}: the unique pre-tokens come to {counts.data.size} bytes, the limit is {MAX_BYTES}; "
            "use a pre-tokenization with shorter pre-tokens or a smaller tokenizer split"
        )


def check_longest(counts: PretokenCounts, limit: int, method: str) -> None:
    """Reject a pre-token that is too long for a kernel.

    Raises:
        TokbenchError: a pre-token is longer than ``limit`` bytes.
    """
    longest = int(np.diff(counts.offsets).max(initial=0))
    if longest > limit:
        raise TokbenchError(
            f"{method}: a pre-token has {longest} bytes, the limit is {limit}; use a pre-tokenization that cuts it"
        )


def check_alphabet(alphabet: Sized, size: int, method: str) -> None:
    """Reject an alphabet that does not fit into the vocabulary.

    Raises:
        TokbenchError: the alphabet is larger than ``size``.
    """
    if len(alphabet) > size:
        raise TokbenchError(
            f"{method}: the alphabet of {len(alphabet)} bytes and characters exceeds the vocabulary size {size}; "
            "lower character_coverage or raise the size"
        )
