"""Longest suffix: longest match from the right, for any vocabulary.

Reference: ``longest_suffix`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.longest_suffix import LongestSuffixSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


@segmentation("longest_suffix", cites=())
def longest_suffix(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Match the longest token at the end of the pre-token, then repeat before it.

    This preserves word endings, while ``greedy`` preserves word beginnings.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "longest_suffix")
    return LongestSuffixSegmenter(Trie(*vocabulary.flat(), backwards=True))
