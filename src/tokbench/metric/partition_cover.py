"""Partition cover: pairs of adjacent bytes that tokens join, and pairs that the vocabulary could join.

Source: "A partition cover approach to tokenization", sections 3 to 5. A text of single bytes has a cut between every
two adjacent bytes of a pre-token. Every cut that a segmentation removes saves a token (the objective of Tok). A
vocabulary covers a pair of adjacent bytes if some occurrence of a token contains both. That is the objective of
weighted maximum coverage (WMC), in which tokens may overlap. No segmentation joins more pairs than its vocabulary
covers.

Reference: ``covered_pairs`` in :mod:`tokbench.reference.segmentation`, for the pairs that are covered.
"""

import numpy as np

from tokbench.kernels.covered import covered_pairs
from tokbench.kernels.trie import Trie
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import Usage

JOINED = "pairs of adjacent bytes of the text's pre-tokens inside one token (bytes - tokens)"
COVERED = "pairs of adjacent bytes of the text's pre-tokens inside some occurrence of some token"


@metric(
    "partition_cover",
    cites=("lim2025",),
    better={"partition_cover_ratio": "highest"},
    over_the_same=("partition_cover_ratio", "partition_cover_attained"),
    shown=(
        Shown("partition_cover_attained", "compression", "joined pairs / most possible"),
        Shown("partition_cover_ratio", "compression", "joined / GreedWMC covers"),
        Shown("joined_pairs", "compression", "joined pairs"),
        Shown("covered_pairs", "compression", "covered pairs"),
        Shown("joined_share_of_covered_pairs", "compression", "joined / covered pairs"),
    ),
)
def partition_cover(usage: Usage, options: object) -> list[Measurement]:
    """Return pairs that the tokenizer joins, pairs that its vocabulary covers, and the ratio of the two."""
    pairs = usage.counts.total_bytes - usage.counts.total
    joined = usage.counts.total_bytes - usage.total
    rows = [Measurement("joined_pairs", JOINED, float(joined), pairs)]
    if usage.vocabulary.continuation is not None:
        reason = "a token with continuation forms does not occur at every place that spells it"
        names = (("covered_pairs", COVERED), ("joined_share_of_covered_pairs", "joined pairs / covered pairs"))
        return rows + [Measurement(name, definition, None, pairs, reason) for name, definition in names]
    counts = usage.counts
    data = np.ascontiguousarray(counts.data)
    covered = covered_pairs(Trie(*usage.vocabulary.flat()), data, counts.offsets, counts.counts)
    return [
        *rows,
        Measurement("covered_pairs", COVERED, float(covered), pairs),
        ratio("joined_share_of_covered_pairs", "joined pairs / covered pairs", joined, covered, "no pair is covered"),
    ]
