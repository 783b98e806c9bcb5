"""Whole or merge: byte-pair encoding in which a pre-token that is a token is taken whole, as ``ignore_merges`` has it.

Source: the option of that name of the BPE model in Hugging Face's ``tokenizers``.

Reference: ``whole_or_merge`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.trie import Trie
from tokbench.kernels.whole import WholeSegmenter
from tokbench.options import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import replayed
from tokbench.vocabulary import Vocabulary


@segmentation("whole_or_merge", needs="merges", cites=("huggingface_tokenizers",))
def whole_or_merge(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Take a pre-token that is a token whole, and cut all others as ``merge`` does.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    return WholeSegmenter(*replayed(vocabulary, "whole_or_merge"), Trie(*vocabulary.flat()))
