"""UTF-8 integrity: characters whose bytes are in several tokens, and tokens across the borders of characters.

Definitions of TokEval (tokenizer-intrinsic-evals), with the positions of tokens in the text: a character is incomplete
in a token if some of its bytes are outside of it. The share of tokens that are not valid UTF-8 is in the family
``byte_fallback``. Bytes that are not valid UTF-8 are no part of a character.
"""

import re

import numpy as np
from numpy.typing import NDArray

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.spans import is_utf8
from tokbench.metric.usage import Usage

TAIL = rb"[\x80-\xbf]"
LONGER = re.compile(
    rb"[\xc2-\xdf]%b|\xe0[\xa0-\xbf]%b|[\xe1-\xec\xee\xef]%b{2}|\xed[\x80-\x9f]%b"
    rb"|\xf0[\x90-\xbf]%b{2}|[\xf1-\xf3]%b{3}|\xf4[\x80-\x8f]%b{2}" % ((TAIL,) * 7)
)
"""A character of several bytes in valid UTF-8 (Unicode, table 3-7)."""
WIDTHS = (2, 3, 4)
SPLIT = "characters{} whose bytes are in more than one token / those characters of the text"
CROSSING = (
    "tokens of two bytes or more with bytes of at least two characters, one of them incomplete / tokens of the text"
)


def longer_characters(data: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start and end of each character of several bytes within a pre-token, int64 [characters, 2]."""
    if is_utf8(data):
        leads = np.frombuffer(data, np.uint8)
        starts = np.flatnonzero(leads >= 0xC0)
        leads = leads[starts]
        spans = np.stack([starts, starts + 2 + (leads >= 0xE0) + (leads >= 0xF0)], axis=1)
    else:
        places = (place for match in LONGER.finditer(data) for place in match.span())
        spans = np.fromiter(places, np.int64).reshape(-1, 2)
    owner = np.searchsorted(offsets, spans[:, 0], "right")
    return spans[spans[:, 1] <= offsets[np.minimum(owner, len(offsets) - 1)]]


def split_counts(
    spans: NDArray[np.int64], weights: NDArray[np.int64], borders: NDArray[np.int64]
) -> dict[int, tuple[int, int]]:
    """Return the number of split characters and of all characters, by width.

    Args:
        spans: int64 [characters, 2], start and end of each character.
        weights: int64 [characters], occurrences of each character.
        borders: int64 [tokens + 1], start of each token, and the end of the last.
    """
    split = np.searchsorted(borders, spans[:, 1], "left") > np.searchsorted(borders, spans[:, 0], "right")
    widths = spans[:, 1] - spans[:, 0]
    return {
        width: (int(weights[split & (widths == width)].sum()), int(weights[widths == width].sum())) for width in WIDTHS
    }


def crossing_tokens(spans: NDArray[np.int64], borders: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for tokens of two bytes or more with bytes of two characters, one incomplete, bool [tokens].

    Args:
        spans: int64 [characters, 2], start and end of each character of several bytes.
        borders: int64 [tokens + 1], start of each token, and the end of the last.
    """
    inside = np.zeros(int(borders[-1]) + 1, np.bool_)  # True for all but the first byte of a character.
    for place in range(1, max(WIDTHS)):
        inside[spans[spans[:, 0] + place < spans[:, 1], 0] + place] = True
    begun = np.cumsum(~inside, dtype=np.int64)
    starts, ends = borders[:-1], borders[1:]
    return (inside[starts] | inside[ends]) & (begun[ends - 1] > begun[starts])


@metric(
    "utf8",
    per_language=True,
    cites=(),
    better={"split_characters": "lowest", "tokens_crossing_characters": "lowest"},
    over_the_same=(CROSSING,),
    shown=(
        Shown("split_characters", "bytes", "characters split", SPLIT.format(" of several bytes")),
        *(
            Shown("split_characters", "bytes", f"characters of {width} bytes split", SPLIT.format(f" of {width} bytes"))
            for width in WIDTHS
        ),
        Shown("split_characters_per_thousand", "bytes", "split characters / 1,000 tokens"),
        Shown("tokens_crossing_characters", "bytes", "tokens across characters / tokens"),
    ),
)
def utf8(usage: Usage, options: object) -> list[Measurement]:
    """Return the share of characters of several bytes that tokens split, by width, and of tokens across characters."""
    offsets = np.asarray(usage.counts.offsets, np.int64)
    spans = longer_characters(usage.counts.data.tobytes(), offsets)
    lengths = np.fromiter(map(len, usage.vocabulary.tokens), np.int64, len(usage.vocabulary))[usage.ids]
    borders = np.concatenate([[0], np.cumsum(lengths)])
    total = usage.total
    weights = usage.counts.counts[np.searchsorted(offsets, spans[:, 0], "right") - 1]
    by_width = split_counts(spans, weights, borders)
    split, every = (sum(numbers[place] for numbers in by_width.values()) for place in (0, 1))
    crossing = crossing_tokens(spans, borders)
    occurrences = np.repeat(usage.counts.counts, usage.tokens_per_pretoken)
    name, none = "split_characters", "the text has no such character"
    return [
        ratio(name, SPLIT.format(" of several bytes"), split, every, none),
        *(ratio(name, SPLIT.format(f" of {width} bytes"), *by_width[width], none) for width in WIDTHS),
        ratio(
            f"{name}_per_thousand",
            "1,000 split characters / tokens of the text",
            1000 * split,
            total,
            "the text has no tokens",
        ),
        ratio(
            "tokens_crossing_characters", CROSSING, int(occurrences[crossing].sum()), total, "the text has no tokens"
        ),
    ]
