"""Greedy: the longest match from the left, with any vocabulary."""

from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.trie import Trie
from tokbench.registry import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.forms import refuse_forms
from tokbench.tokens import Vocabulary


@segmentation("greedy")
def greedy(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Take the longest token that the rest of the pre-token starts with, and go on after it.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    refuse_forms(vocabulary, "greedy")
    trie = Trie(*vocabulary.flat())
    return GreedySegmenter(trie, trie)
