"""Greedy: longest match from the left, for any vocabulary.

Reference: ``greedy`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np
from pydantic import Field

from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


class GreedyOptions(Options):
    max_token_bytes: int | None = Field(None, ge=1)
    """Longest token to use, in bytes (default: no limit)."""


@segmentation("greedy", options=GreedyOptions, cites=())
def greedy(vocabulary: Vocabulary, options: GreedyOptions) -> Segmenter:
    """Match the longest token at the start of the pre-token, then repeat after it.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "greedy")
    data, offsets = vocabulary.flat()
    short = None if options.max_token_bytes is None else np.diff(offsets) <= options.max_token_bytes
    trie = Trie(data, offsets, short)
    return GreedySegmenter(trie, trie)
