"""Ranks: tokens with the order in which they are merged, the form read by ``tiktoken``.

Tokbench's export writes a second file with the other arguments of ``tiktoken.Encoding``, which a file of ranks lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.parsed import NativeTokenizer, check_special
from tokbench.adapters.forms.patterns import Pattern, native_setting, pattern_setting
from tokbench.errors import TokbenchError
from tokbench.io.compression import COMPRESSED, plain_name
from tokbench.io.json import parse_json
from tokbench.pretokenization.patterns.coverage import left_out
from tokbench.pretokenization.patterns.dialects import FANCY_REGEX, NotNativeError, translate
from tokbench.tokenizer.rank_lines import NOT_UTF8
from tokbench.vocabulary import Vocabulary

RANKS = "tokenizer.tiktoken"
SETTINGS = "tiktoken.json"
AGAIN = "export the tokenizer again, or name both the pattern and the special tokens"


def native_ranks(
    ranks: Mapping[bytes, int], pattern: Pattern, special: Mapping[int, bytes], segmentation: str | None, shift: int = 0
) -> NativeTokenizer:
    """Return ranks in Tokbench's three phases; an id is the sum of a rank and ``shift``.

    Raises:
        NotNativeError: a byte is not a token, ``tiktoken`` may interpret the pattern differently, or the pattern may
            leave characters out, which ``tiktoken`` drops.
    """

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
    translation = translate(pattern.expression, FANCY_REGEX)
    setting = native_setting([translation], pattern.name)
    if (outside := left_out(translation.pattern)) is not None:
        raise NotNativeError(
            f"its pattern may leave out characters, which tiktoken drops (U+{ord(outside):04X}, for one)"
        )
    return NativeTokenizer(vocabulary, setting, "ranked", translation.sets)


@dataclass(frozen=True)
class Sidecar:
    """Content of the second file.

    Attributes:
        pattern: pre-tokenization pattern.
        special: special tokens with their ids.
    """

    pattern: str
    special: Mapping[str, int]


def sidecar_of(path: Path) -> Path | None:
    """Return the second file next to ranks; None if there is none, or the ranks do not have the export's name."""
    if plain_name(path.name) != RANKS:
        return None
    places = (path.with_name(f"{SETTINGS}{suffix}") for suffix in ("", *COMPRESSED))
    return next((place for place in places if place.is_file()), None)


def read_sidecar(path: Path) -> Sidecar:
    """Parse the second file.

    Raises:
        TokbenchError: it is damaged.
    """
    values = parse_json(read_bounded(path), str(path), remedy=AGAIN)
    pattern, special = (values.get(key) if isinstance(values, dict) else None for key in ("pat_str", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(special, dict):
        raise TokbenchError(f"{path}: 'pat_str' is not text, or 'special_tokens' not an object; {AGAIN}")
    check_special(special, f"{path}: special_tokens")
    return Sidecar(pattern, special)
