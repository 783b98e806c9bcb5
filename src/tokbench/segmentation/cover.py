"""Cover: tokens claim their places one after another, in the order of their ids; larger ones take over smaller ones.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), appendix D, algorithm 4. With a vocabulary by
GreedTok this is the segmentation that its construction counted on; with any other, ids are the ranks.

Reference: ``cover`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.kernels.cover import CoverSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


@segmentation("cover", cites=("lim2025",))
def cover(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Join the bytes of each token in turn, wherever no earlier token reaches across one of its two ends.

    Tokens come in the order of their ids, the places of one from left to right. Time is O(m log m) in the matches of
    all tokens in a pre-token.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "cover")
    data, offsets = vocabulary.flat()
    return CoverSegmenter(Trie(data, offsets), np.diff(offsets))
