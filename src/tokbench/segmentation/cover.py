"""Cover: tokens are applied in the order of their ids, and a later token can absorb earlier ones.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), appendix D, algorithm 4. For a vocabulary by
GreedTok this is the segmentation assumed by its construction. For any other vocabulary, ids are the ranks.

Reference: ``cover`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.kernels.cover import CoverSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


@segmentation("cover", cites=("lim2025",))
def cover(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Join the bytes of each token in turn, at every match whose two ends no earlier token crosses.

    Tokens are processed in the order of their ids, the matches of a token from left to right. Time is O(m log m) in the
    number of matches of all tokens in a pre-token.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "cover")
    data, offsets = vocabulary.flat()
    return CoverSegmenter(Trie(data, offsets), np.diff(offsets))
