"""Byte fallback: share of a text encoded as single bytes, and tokens that split characters.

With a byte alphabet every tokenizer can encode any text, but text outside the vocabulary becomes single bytes. In
scripts with several bytes per character this may be most of the text, if the vocabulary was built on other languages.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.metric import Shown, metric
from tokbench.metric.characters import is_utf8
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage

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
    of_ids=True,
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
def byte_fallback(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Count tokens of one byte, those that are part of a longer character, and tokens that split characters."""
    if isinstance(usage, EncodedText):
        return _by_spans(usage)
    tokens, total = usage.vocabulary.tokens, usage.total
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    part = np.fromiter((len(token) == 1 and token[0] >= 0x80 for token in tokens), np.bool_, len(tokens))
    broken = _broken(tokens)
    name, used = "byte_fallback", usage.frequencies
    lost = int(used[single].sum())
    return [
        Measurement(name, OCCURRENCES, float(lost), total),
        ratio(name, SINGLE, lost, total, NO_TOKENS),
        ratio(name, OF_BYTES, lost, usage.counts.total_bytes, "the text is empty"),
        ratio(name, PART, int(used[part].sum()), total, NO_TOKENS),
        ratio("tokens_cutting_characters", BROKEN, int(used[broken].sum()), total, NO_TOKENS),
        _cutting(broken),
    ]


def _by_spans(text: EncodedText) -> list[Measurement]:
    counts, name = text.spans, "byte_fallback"
    rows = text.by_tokens(
        [
            Measurement(name, OCCURRENCES, float(counts.single), counts.placed),
            ratio(name, SINGLE, counts.single, counts.placed, NO_TOKENS),
            ratio(name, OF_BYTES, counts.single, text.total_bytes, "the text is empty"),
            ratio(name, PART, counts.partial, counts.placed, NO_TOKENS),
            ratio("tokens_cutting_characters", BROKEN, counts.broken, counts.placed, NO_TOKENS),
        ]
    )
    return rows if text.vocabulary is None else [*rows, _cutting(_broken(text.vocabulary.tokens))]


def _broken(tokens: Sequence[bytes]) -> NDArray[np.bool_]:
    return np.fromiter((not is_utf8(token) for token in tokens), np.bool_, len(tokens))


def _cutting(broken: NDArray[np.bool_]) -> Measurement:
    return Measurement("tokens_cutting_characters", CUTTING, int(broken.sum()) / len(broken), len(broken))
