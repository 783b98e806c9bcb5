"""UTF-8 integrity: characters whose bytes are in several tokens, and tokens across the borders of characters.

Definitions of TokEval (tokenizer-intrinsic-evals), with the positions of tokens in the text: a character is incomplete
in a token if some of its bytes are outside of it. The share of tokens that are not valid UTF-8 is in the family
``byte_fallback``. For a tokenizer that encodes documents, only characters with all bytes in placed tokens count.
"""

import numpy as np

from tokbench.metric import Shown, metric
from tokbench.metric.characters import WIDTHS, by_width, crossing_tokens, longer_characters, split_characters
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage

SPLIT = "characters{} whose bytes are in more than one token / those characters of the text"
CROSSING = (
    "tokens of two bytes or more with bytes of at least two characters, one of them incomplete / tokens of the text"
)


@metric(
    "utf8",
    per_language=True,
    of_ids=True,
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
def utf8(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Return the share of characters of several bytes that tokens split, by width, and of tokens across characters."""
    if isinstance(usage, EncodedText):
        sums = usage.spans
        pairs = [(sums.split_2, sums.longer_2), (sums.split_3, sums.longer_3), (sums.split_4, sums.longer_4)]
        return usage.by_tokens(_rows(pairs, sums.crossing, sums.placed))
    offsets = np.asarray(usage.counts.offsets, np.int64)
    spans = longer_characters(usage.counts.data.tobytes(), offsets)
    lengths = np.fromiter(map(len, usage.vocabulary.tokens), np.int64, len(usage.vocabulary))[usage.ids]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    weights = usage.counts.counts[np.searchsorted(offsets, spans[:, 0], "right") - 1]
    crossing = crossing_tokens(spans, starts, ends, int(offsets[-1]))
    occurrences = np.repeat(usage.counts.counts, usage.tokens_per_pretoken)
    pairs = by_width(spans, split_characters(spans, starts), weights)
    return _rows(pairs, int(occurrences[crossing].sum()), usage.total)


def _rows(pairs: list[tuple[int, int]], crossing: int, total: int) -> list[Measurement]:
    name, none, empty = "split_characters", "the text has no such character", "the text has no tokens"
    split, characters = (sum(pair[place] for pair in pairs) for place in (0, 1))
    widths = zip(WIDTHS, pairs, strict=True)
    return [
        ratio(name, SPLIT.format(" of several bytes"), split, characters, none),
        *(ratio(name, SPLIT.format(f" of {width} bytes"), *pair, none) for width, pair in widths),
        ratio(f"{name}_per_thousand", "1,000 split characters / tokens of the text", 1000 * split, total, empty),
        ratio("tokens_crossing_characters", CROSSING, crossing, total, empty),
    ]
