"""Merge: merges of byte-pair encoding, replayed in the order in which they were learnt.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), section 3.2.

Reference: ``merge`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.deferred import DeferredSegmenter
from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.token_lists import joined_bytes as joined_in
from tokbench.kernels.token_lists import wrong_merge
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary

WORTH = 4
"""Bytes of pre-tokens per token of the vocabulary after which the tables are built. In that many bytes they would have
saved about a third of the time that they take, 30 ns a byte and 0.35 µs a token."""


@segmentation("merge", needs="merges", cites=("sennrich2016",))
def merge(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Join the adjacent pair of the lowest rank, the leftmost first, until no pair has a rank.

    The rank of a pair is the index of its first occurrence in ``vocabulary.merges``. Time is O(n log n) in the length
    of a pre-token, even for a pre-token that is a full document.

    Raises:
        TokbenchError: the vocabulary has no merges or has continuation forms, a merge names an id that does not exist,
            or its result is not the concatenation of its parts; the message names the merge.
    """
    tables = replay_merges(vocabulary, "merge")
    first = MergeSegmenter(*tables, derive=False)
    return DeferredSegmenter(first, lambda: MergeSegmenter(*tables), WORTH * len(vocabulary))


def replay_merges(
    vocabulary: Vocabulary, segmentation: str
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Validate a vocabulary's merges and return the arguments of the kernels that replay them.

    Returns:
        merges: int32 [m, 3], merges of the vocabulary (left, right, result).
        byte_ids: int32 [256], id of each byte.
        joined: uint8 [65536], see :func:`joined_bytes`.

    Raises:
        TokbenchError: as :func:`merge`, with the name ``segmentation`` in the message.
    """
    reject_continuation(vocabulary, segmentation)
    if vocabulary.merges is None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary has no merges; use 'greedy' or 'shortest_path', "
            "or a vocabulary by bpe"
        )
    tokens, merges = vocabulary.tokens, vocabulary.merges
    data, offsets = vocabulary.flat()
    wrong = wrong_merge(np.ascontiguousarray(merges, np.int32).reshape(-1, 3), data, offsets)
    if wrong is not None:
        index, outside = wrong
        ids = merges[index].tolist()
        if outside:
            raise TokbenchError(
                f"segmentation '{segmentation}': merge {index} names an id outside the vocabulary of {len(tokens)} "
                f"tokens ({', '.join(map(str, ids))}); correct it"
            )
        left, right, result = (tokens[number].hex() for number in ids)
        raise TokbenchError(
            f"segmentation '{segmentation}': merge {index} joins {left} and {right} into {result}; correct the result"
        )
    return merges, byte_ids(vocabulary), joined_in(data, offsets)


def byte_ids(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return int32 [256], the id of each byte."""
    data, offsets = vocabulary.flat()
    single = np.flatnonzero(np.diff(offsets) == 1)
    ids = np.zeros(256, np.int32)
    ids[data[offsets[single]]] = single
    return ids


def joined_bytes(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Return uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b."""
    return joined_in(*vocabulary.flat())
