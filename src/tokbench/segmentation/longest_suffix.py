"""Longest suffix: the longest match from the right, with any vocabulary.

Reference: ``longest_suffix`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.longest_suffix import LongestSuffixSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


@segmentation("longest_suffix", cites=())
def longest_suffix(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Take the longest token that the rest of the pre-token ends with, and go on before it.

    Endings come out whole, where ``greedy`` keeps beginnings whole.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "longest_suffix")
    return LongestSuffixSegmenter(Trie(*vocabulary.flat(), backwards=True))
