"""The growth of a text in a ``tokenizer.json``: how many characters its steps may make of one, before any step runs.

A few nested replacements make a billion characters of one, for which no memory suffices. The bound comes from the steps
as written. Where a step decomposes characters, texts are measured in compatibility decomposition, which no normal form
makes longer.
"""

import base64
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tokbench.adapters.forms import NotNativeError
from tokbench.adapters.forms.charsmap import LONGEST, longest_string
from tokbench.adapters.forms.oniguruma import translated
from tokbench.errors import TokbenchError
from tokbench.patterns.parse import LanguageError, nullable, parsed

MOST = LONGEST
"""Largest growth that is read. Unicode's normal forms make up to 18 characters of one, UTF-8 up to 4 bytes."""
DECOMPOSED = 18
"""Characters of the longest compatibility decomposition, that of U+FDFA."""
SHOWN = 1e12
"""Growth that is shown as a number; floats count beyond, up to infinity."""
UNICODE = frozenset(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer", "Precompiled"))
"""Steps that decompose characters. What one of them has decomposed, the next leaves as it is."""
PER_CHARACTER = {"ByteLevel": 4, "Metaspace": 2, "BertNormalizer": 3}
"""Growth of other steps: bytes of a character, a mark before it, and blanks around an ideograph."""
LISTS = ("normalizers", "pretokenizers", "decoders")


def check_growth(normalizer: Any, pre_tokenizer: Any, decoder: Any) -> None:
    """Reject steps that may make more than :data:`MOST` characters of one.

    Args:
        normalizer: as the library writes it in JSON, None for none.
        pre_tokenizer: likewise.
        decoder: likewise.

    Raises:
        TokbenchError: encoding or decoding may grow a text too much.
    """
    encoding = [*_steps(normalizer), *_steps(pre_tokenizer)]
    decoding = [step for step in _steps(decoder) if step["type"] == "Replace"]
    for what, steps in (("normalizer and pre_tokenizer", encoding), ("decoder", decoding)):
        if (found := growth(steps)) > MOST:
            number = f"{found:,.0f}" if found < SHOWN else "over 10^12"
            raise TokbenchError(
                f"{what}: one character may become {number} ({MOST} at most); remove steps that make texts longer"
            )


def growth(steps: Sequence[Mapping[str, Any]]) -> float:
    """Return the number of characters that one of a long text may become, as an upper bound."""
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
    """The steps of sequences within each other, in order."""
    if step is None:
        return
    inner = next((step[key] for key in LISTS if key in step), None)
    if inner is None:
        yield step
        return
    for one in inner:
        yield from _steps(one)


def _replaced(step: Mapping[str, Any], length: Callable[[str], int]) -> float:
    """The growth by a replacement: for each match, or between any two characters where a match may be empty."""
    [(kind, pattern)] = step["pattern"].items()
    made = length(step["content"])
    if kind == "String" and pattern:
        return max(1.0, made / length(pattern))
    return 1.0 + made if kind == "String" or _may_be_empty(pattern) else max(1.0, made)


def _may_be_empty(pattern: str) -> bool:
    try:
        return nullable(parsed(translated(pattern)))
    except (NotNativeError, LanguageError):
        return True


def _decomposed(text: str) -> int:
    return len(unicodedata.normalize("NFKD", text))
