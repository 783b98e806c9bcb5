"""Ranks: tokens with the order in which they are merged, the form read by ``tiktoken``.

Tokbench's export writes a second file with the other arguments of ``tiktoken.Encoding``, which a file of ranks lacks.
"""

import base64
import binascii
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tokbench.adapters.forms import REMEDY, NativeTokenizer, NotNativeError, check_special, read_bounded
from tokbench.adapters.forms.patterns import Pattern, native_setting, pattern_setting
from tokbench.errors import TokbenchError, shortened
from tokbench.io.compression import COMPRESSED, plain_name
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY, whole_number
from tokbench.vocabulary import BYTES, Vocabulary

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


def native_ranks(
    ranks: Mapping[bytes, int], pattern: Pattern, special: Mapping[int, bytes], segmentation: str | None, shift: int = 0
) -> NativeTokenizer:
    """Return ranks in Tokbench's three phases; an id is the sum of a rank and ``shift``.

    Raises:
        NotNativeError: a byte is not a token, ``tiktoken`` may interpret the pattern differently, or the pattern may
            leave characters out, which ``tiktoken`` drops.
    """
    from tokbench.adapters.forms.patterns import FANCY_REGEX, translated
    from tokbench.pretokenization.patterns.coverage import left_out

    if lacking := sorted(NOT_UTF8 - ranks.keys()):
        raise NotNativeError(
            f"{len(lacking)} of the 256 bytes are no tokens (first: {lacking[0].hex()}), so that text that is not "
            "UTF-8 cannot be encoded as it is"
        )
    ids = np.fromiter(ranks.values(), np.int32, len(ranks)) + np.int32(shift)
    vocabulary = Vocabulary(tuple(ranks), ids=ids, special=special)
    if pattern.expression is None or segmentation is not None:  # No library has its ids.
        setting = pattern_setting(pattern.name or str(pattern.expression), "--pattern")
        return NativeTokenizer(vocabulary, setting, segmentation or "ranked")
    translation = translated(pattern.expression, FANCY_REGEX)
    setting = native_setting([translation], pattern.name)
    if (outside := left_out(translation.pattern)) is not None:
        raise NotNativeError(
            f"its pattern may leave out characters, which tiktoken drops (U+{ord(outside):04X}, for one)"
        )
    return NativeTokenizer(vocabulary, setting, "ranked", translation.sets)


RANKS = "tokenizer.tiktoken"
SETTINGS = "tiktoken.json"
AGAIN = "export the tokenizer again, or name both the pattern and the special tokens"


@dataclass(frozen=True)
class Beside:
    """Content of the second file.

    Attributes:
        pattern: pre-tokenization pattern.
        special: special tokens with their ids.
    """

    pattern: str
    special: Mapping[str, int]


def beside(path: Path) -> Path | None:
    """Return the second file next to ranks; None if there is none, or the ranks do not have the export's name."""
    if plain_name(path.name) != RANKS:
        return None
    places = (path.with_name(f"{SETTINGS}{suffix}") for suffix in ("", *COMPRESSED))
    return next((place for place in places if place.is_file()), None)


def read_beside(path: Path) -> Beside:
    """Parse the second file.

    Raises:
        TokbenchError: it is damaged.
    """
    values = parse_json(read_bounded(path), str(path), remedy=AGAIN)
    pattern, special = (values.get(key) if isinstance(values, dict) else None for key in ("pat_str", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(special, dict):
        raise TokbenchError(f"{path}: 'pat_str' is not text, or 'special_tokens' not an object; {AGAIN}")
    check_special(special, f"{path}: special_tokens")
    return Beside(pattern, special)
