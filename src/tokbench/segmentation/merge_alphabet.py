"""Merge from an alphabet: byte-pair encoding that begins with all tokens that no merge makes.

Source: the initial symbols of "grapheme pair encoding" (Velayuthan and Sarveswaran 2025), which are grapheme clusters.
A pre-token is split from the left into the longest tokens of the alphabet, which always has the bytes. If all grapheme
clusters of a text are in the alphabet, these are its clusters. A cluster that is not is split into smaller ones of the
alphabet and bytes.

No other library begins a merge with several characters, so tokenizers with this segmentation are not exported.

Reference: ``merge_alphabet`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.kernels.characters import CharacterSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import replay_merges
from tokbench.vocabulary import Vocabulary


@segmentation("merge_alphabet", needs="merges", cites=("velayuthan2025", "sennrich2016"))
def merge_alphabet(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Join the adjacent pair of the lowest rank, the leftmost first, beginning with the tokens that no merge makes.

    The rank of a pair is the index of its first occurrence in ``vocabulary.merges``. Added tokens are not in the
    alphabet. Time is O(n log n) in the length of a pre-token.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    merges, byte_ids, joined = replay_merges(vocabulary, "merge_alphabet")
    symbols = np.ones(len(vocabulary), np.bool_) if vocabulary.added is None else ~vocabulary.added
    symbols[merges[:, 2]] = False
    alphabet = Trie(*vocabulary.flat(), symbols)
    return CharacterSegmenter(merges, np.arange(len(merges), dtype=np.int32), alphabet, byte_ids, joined)
