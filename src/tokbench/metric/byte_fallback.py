"""Byte fallback: share of a text encoded as single bytes, and tokens that split characters.

With a byte alphabet every tokenizer can encode any text, but text outside the vocabulary becomes single bytes. In
scripts with several bytes per character this may be most of the text, if the vocabulary was built on other languages.
"""

import numpy as np

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import Usage

NO_TOKENS = "the text has no tokens"
OCCURRENCES = "occurrences of tokens of one byte"
SINGLE = f"{OCCURRENCES} / tokens of the text"
OF_BYTES = f"{OCCURRENCES} / bytes of the text"
PART = f"{OCCURRENCES} of a longer character / tokens of the text"
BROKEN = "occurrences of tokens that are not whole characters (no valid UTF-8) / tokens of the text"
CUTTING = "tokens of the vocabulary that are not whole characters (no valid UTF-8) / tokens of the vocabulary"


@metric(
    "byte_fallback",
    per_language=True,
    cites=(),
    better={"byte_fallback": "lowest", "tokens_cutting_characters": "lowest"},
    over_the_same=(SINGLE, PART, BROKEN),
    shown=(
        Shown("byte_fallback", "bytes", "single bytes / tokens", SINGLE),
        Shown("byte_fallback", "bytes", "single bytes / bytes", OF_BYTES),
        Shown("byte_fallback", "bytes", "bytes of longer characters / tokens", PART),
        Shown("byte_fallback", "bytes", "single bytes", OCCURRENCES),
        Shown("tokens_cutting_characters", "bytes", "tokens cutting characters / tokens", BROKEN),
        Shown("tokens_cutting_characters", "bytes", "vocabulary cutting characters", CUTTING),
    ),
)
def byte_fallback(usage: Usage, options: object) -> list[Measurement]:
    """Count tokens of one byte, those that are part of a longer character, and tokens that split characters."""
    tokens, total = usage.vocabulary.tokens, usage.total
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    part = np.fromiter((len(token) == 1 and token[0] >= 0x80 for token in tokens), np.bool_, len(tokens))
    broken = np.fromiter((not _is_text(token) for token in tokens), np.bool_, len(tokens))
    name, used = "byte_fallback", usage.frequencies
    lost = int(used[single].sum())
    return [
        Measurement(name, OCCURRENCES, float(lost), total),
        ratio(name, SINGLE, lost, total, NO_TOKENS),
        ratio(name, OF_BYTES, lost, usage.counts.total_bytes, "the text is empty"),
        ratio(name, PART, int(used[part].sum()), total, NO_TOKENS),
        ratio("tokens_cutting_characters", BROKEN, int(used[broken].sum()), total, NO_TOKENS),
        Measurement("tokens_cutting_characters", CUTTING, int(broken.sum()) / len(tokens), len(tokens)),
    ]


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
