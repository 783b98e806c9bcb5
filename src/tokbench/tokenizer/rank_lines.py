"""Ranks as ``tiktoken`` reads them: lines of a token in base64 and its rank, the order in which tokens are merged."""

import base64
import binascii
import sys
from codecs import BOM_UTF8
from itertools import pairwise

from tokbench.errors import TokbenchError, shortened
from tokbench.io.contents import REMEDY
from tokbench.io.numbers import LARGEST_VOCABULARY, whole_number
from tokbench.vocabulary import BYTES

NOT_UTF8 = frozenset(bytes([value]) for value in (0xC0, 0xC1, *range(0xF5, 0x100)))
"""Bytes that no UTF-8 text contains. Ranks may lack them: the library then still encodes every UTF-8 text."""


def parse_ranks(content: bytes, place: str) -> dict[bytes, int]:
    """Parse the tokens of a file with their ranks; sorted by rank.

    Args:
        content: lines of a token in base64, a space and its rank.
        place: name of the file in messages.

    Raises:
        TokbenchError: a line is invalid, a token or a rank occurs twice, or a byte of UTF-8 texts is not a token. Then
            neither Tokbench nor ``tiktoken`` could encode every text.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            spelt, rank = line.split()
            token = base64.b64decode(spelt, validate=True)
            value = whole_number(rank.decode("ascii"), 0, sys.maxsize)
        except (ValueError, binascii.Error):
            marked = ", after a byte order mark, which is not allowed" if line.startswith(BOM_UTF8) else ""
            raise TokbenchError(
                f"{place}:{number}: this line is not a token in base64 with its rank{marked}; {REMEDY}"
            ) from None
        add_rank(ranks, token, value, f"{place}:{number}")
    return checked_ranks(ranks, place)


def add_rank(ranks: dict[bytes, int], token: bytes, rank: int, place: str) -> None:
    """Add a token; reject empty and duplicate tokens, and ranks that cannot be ids."""
    if not token:
        raise TokbenchError(f"{place}: an empty token; {REMEDY}")
    if rank >= LARGEST_VOCABULARY:
        raise TokbenchError(f"{place}: the rank {rank} is over {LARGEST_VOCABULARY - 1}, the largest id here; {REMEDY}")
    if token in ranks:
        raise TokbenchError(f"{place}: the token {shortened(token.hex())} occurs twice; {REMEDY}")
    ranks[token] = rank


def checked_ranks(ranks: dict[bytes, int], place: str) -> dict[bytes, int]:
    """Return ranks sorted by rank; reject those that cannot encode every UTF-8 text."""
    missing = [byte for byte in BYTES if byte not in ranks]
    if needed := [byte for byte in missing if byte not in NOT_UTF8]:
        raise TokbenchError(
            f"{place}: {len(missing)} of the 256 bytes are not tokens (first: {needed[0].hex()}), so that not every "
            f"text can be encoded; {REMEDY}"
        )
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    for (token, rank), (other, after) in pairwise(ordered):
        if rank == after:
            raise TokbenchError(
                f"{place}: the tokens {shortened(token.hex())} and {shortened(other.hex())} have the same "
                f"rank, {rank}; {REMEDY}"
            )
    return dict(ordered)
