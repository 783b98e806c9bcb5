"""Merge tuples: byte-pair encoding whose merges may have more than two parts, as after a knockout.

Bauwens and Delobelle, "BPE-knockout: Pruning Pre-existing BPE Tokenisers with Backwards-compatible Morphological
Semi-supervision" (2024), section 3.

Reference: ``merge_tuples`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.tuples import TupleSegmenter
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.merge import byte_ids, joined_bytes
from tokbench.vocabulary import BYTES, Vocabulary


@segmentation("merge_tuples", needs="tuples", cites=("bauwens2024",))
def merge_tuples(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Apply the merge of the lowest rank, the leftmost first, until no merge applies.

    A merge applies where all its parts are adjacent. Its rank is its index in ``vocabulary.tuples``. Time is O(n log n)
    in the length of a pre-token, times the number of parts of the longest merge.

    Raises:
        TokbenchError: the vocabulary has no tuples or has continuation forms, or they are not merges of earlier tokens
            into all tokens of the vocabulary; the message names the merge or the token.
    """
    reject_continuation(vocabulary, "merge_tuples")
    if vocabulary.tuples is None:
        raise TokbenchError(
            "segmentation 'merge_tuples': the vocabulary has no tuples; use 'greedy' or 'shortest_path', "
            "or a vocabulary by bpe_knockout"
        )
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    # Every merge needs tokens of earlier merges, and together they make the whole vocabulary.
    known = set(BYTES)
    for rank, parts in enumerate(vocabulary.tuples):
        if len(parts) < 2:
            raise TokbenchError(
                f"segmentation 'merge_tuples': merge {rank} has fewer than two parts; build the vocabulary again"
            )
        missing = next((token for token in (*parts, b"".join(parts)) if token not in ids), None)
        late = next((token for token in parts if token not in known), missing)
        if late is not None:
            raise TokbenchError(
                f"segmentation 'merge_tuples': merge {rank} has the token {late.hex()}, which the vocabulary lacks or "
                "no earlier merge makes; build the vocabulary again"
            )
        known.add(b"".join(parts))
    if unmade := known.symmetric_difference(ids):
        raise TokbenchError(
            f"segmentation 'merge_tuples': no merge makes the token {min(unmade).hex()}; build the vocabulary again"
        )
    # Flat arrays for the kernel.
    bounds = np.zeros(len(vocabulary.tuples) + 1, np.int64)
    np.cumsum([len(parts) for parts in vocabulary.tuples], out=bounds[1:])
    return TupleSegmenter(
        np.array([ids[b"".join(parts)] for parts in vocabulary.tuples], np.int32),
        bounds,
        np.array([ids[part] for parts in vocabulary.tuples for part in parts], np.int32),
        byte_ids(vocabulary),
        joined_bytes(vocabulary),
    )
