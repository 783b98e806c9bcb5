"""Bounds on the growth of texts by the steps of a ``tokenizer.json``.

A few nested replacements may turn one character into a billion and exhaust memory. So the growth is bounded from the
steps of the file before any of them runs. If a step decomposes characters, lengths are those of the compatibility
decomposition, which no normal form makes longer.
"""

import base64
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.pretokenization.patterns.dialects import ONIGURUMA, NotNativeError, translate
from tokbench.tokenizer.libraries.charsmaps import MAX_CHARACTERS, longest_string

MAX_GROWTH = MAX_CHARACTERS
"""Largest accepted growth. Unicode's normal forms make up to 18 characters of one, UTF-8 up to 4 bytes."""
DECOMPOSED = 18
"""Characters of the longest compatibility decomposition, that of U+FDFA."""
MAX_SHOWN = 1e12
"""Largest growth shown as a number; it is computed in floats, which may become infinite."""
UNICODE = frozenset(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer", "Precompiled"))
"""Steps that decompose characters. A second one does not decompose further."""
PER_CHARACTER = {"ByteLevel": 4, "Metaspace": 2, "BertNormalizer": 3}
"""Growth of other steps: bytes of a character, a mark before it, and spaces around an ideograph."""
LISTS = ("normalizers", "pretokenizers", "decoders")


def check_growth(normalizer: Any, pre_tokenizer: Any, decoder: Any) -> None:
    """Reject steps that may make more than :data:`MAX_GROWTH` characters of one.

    Args:
        normalizer: normalizer in the library's JSON, None for none.
        pre_tokenizer: pre-tokenizer, likewise.
        decoder: decoder, likewise.

    Raises:
        TokbenchError: encoding or decoding may lengthen a text too much.
    """
    encoding = [*_steps(normalizer), *_steps(pre_tokenizer)]
    decoding = [step for step in _steps(decoder) if step["type"] == "Replace"]
    for what, steps in (("normalizer and pre_tokenizer", encoding), ("decoder", decoding)):
        if (factor := growth(steps)) > MAX_GROWTH:
            number = f"{factor:,.0f}" if factor < MAX_SHOWN else "over 10^12"
            raise TokbenchError(
                f"{what}: one character may become {number} ({MAX_GROWTH} at most); remove steps that make texts longer"
            )


def growth(steps: Sequence[Mapping[str, Any]]) -> float:
    """Return an upper bound on the growth of a long text: characters after all steps by character before."""
    decomposes = any(step["type"] in UNICODE for step in steps)
    length = _decomposed if decomposes else len
    total, tables = 1.0, 0
    for step in steps:
        kind = step["type"]
        if kind == "Replace":
            total *= _replaced(step, length)
        elif kind == "Prepend":
            total *= 1 + length(step["prepend"])
        elif kind == "Precompiled":
            longest = longest_string(base64.b64decode(step["precompiled_charsmap"]))
            total *= max(1.0, longest / (1 if tables else DECOMPOSED))
            tables += 1
        else:
            total *= PER_CHARACTER.get(kind, 1)
    return total * DECOMPOSED if decomposes else total


def _steps(step: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the steps of nested sequences, in order."""
    if step is None:
        return
    inner = next((step[key] for key in LISTS if key in step), None)
    if inner is None:
        yield step
        return
    for inner_step in inner:
        yield from _steps(inner_step)


def _replaced(step: Mapping[str, Any], length: Callable[[str], int]) -> float:
    """Return the growth by a replacement of each match, or between any two characters if a match may be empty."""
    [(kind, pattern)] = step["pattern"].items()
    made = length(step["content"])
    if kind == "String" and pattern:
        return max(1.0, made / length(pattern))
    return 1.0 + made if kind == "String" or _may_be_empty(pattern) else max(1.0, made)


def _may_be_empty(pattern: str) -> bool:
    """Return whether a pattern may match the empty string; True if that is not known."""
    try:
        translate(pattern, ONIGURUMA)
    except NotNativeError:
        return True
    return False


def _decomposed(text: str) -> int:
    return len(unicodedata.normalize("NFKD", text))
