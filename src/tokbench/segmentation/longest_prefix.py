"""Longest prefix: WordPiece's longest match, with separate tokens for the start of a pre-token and the rest.

Devlin et al., "BERT" (2019); also the inference of ByteSpan. Unlike theirs, it has no unknown token and no maximum word
length.

Reference: ``greedy`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, segmentation
from tokbench.vocabulary import BYTES, Vocabulary


@segmentation("longest_prefix", continuation=True, cites=("devlin2019", "goriely2025"))
def longest_prefix(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Match the longest start token first, then the longest continuation token repeatedly.

    Without continuation forms this equals ``greedy``.

    Raises:
        TokbenchError: a byte lacks one of its two forms.
    """
    data, offsets = vocabulary.flat()
    if vocabulary.continuation is None:
        trie = Trie(data, offsets)
        return GreedySegmenter(trie, trie)
    inside = np.asarray(vocabulary.continuation, np.bool_)
    for form, mask in (("start", ~inside), ("continuation", inside)):
        present = {token for token, marked in zip(vocabulary.tokens, mask.tolist(), strict=True) if marked}
        missing = [byte for byte in BYTES if byte not in present]
        if missing:
            raise TokbenchError(
                f"segmentation 'longest_prefix': {len(missing)} of the 256 bytes lack their {form} form "
                f"(first: {missing[0].hex()}); add every byte in both forms"
            )
    return GreedySegmenter(Trie(data, offsets, ~inside), Trie(data, offsets, inside))
