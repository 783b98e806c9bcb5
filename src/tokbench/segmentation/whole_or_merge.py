"""Whole or merge: byte-pair encoding that does not split a pre-token that is a token.

Source: the option ``ignore_merges`` of the BPE model in Hugging Face's ``tokenizers``.

Reference: ``whole_or_merge`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.deferred import DeferredSegmenter
from tokbench.kernels.trie import Trie
from tokbench.kernels.whole import WholeSegmenter
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import WORTH, replay_merges
from tokbench.vocabulary import Vocabulary


@segmentation("whole_or_merge", needs="merges", cites=("huggingface_tokenizers",))
def whole_or_merge(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Return a pre-token that is a token as one token, and split all others as ``merge`` does.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    tables, tokens = replay_merges(vocabulary, "whole_or_merge"), Trie(*vocabulary.flat())
    first = WholeSegmenter(*tables, tokens, derive=False)
    return DeferredSegmenter(first, lambda: WholeSegmenter(*tables, tokens), WORTH * len(vocabulary))
