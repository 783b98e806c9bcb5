"""What the kernels can address, and how a method says that a text or an alphabet is too large for it."""

from collections.abc import Sized

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts

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
