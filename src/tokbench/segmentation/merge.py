"""Merge: merges of byte-pair encoding, replayed in the order in which they were learnt.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), section 3.2.

Reference: ``merge`` in :mod:`tokbench.reference.segmentation`.
"""

from operator import add, eq

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.merge import MergeSegmenter
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import BYTES, Vocabulary


@segmentation("merge", needs="merges", cites=("sennrich2016",))
def merge(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Join the adjacent pair of the lowest rank, the leftmost first, until no pair has a rank.

    The rank of a pair is the index of its first occurrence in ``vocabulary.merges``. Time is O(n log n) in the length
    of a pre-token, even for a pre-token that is a full document.

    Raises:
        TokbenchError: the vocabulary has no merges or has continuation forms, a merge names an id that does not exist,
            or its result is not the concatenation of its parts; the message names the merge.
    """
    return MergeSegmenter(*replayed(vocabulary, "merge"))


def replayed(
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
    outside = np.flatnonzero(((merges < 0) | (merges >= len(tokens))).any(axis=1))
    inside = merges[: outside[0]] if len(outside) else merges
    lefts, rights, results = (map(tokens.__getitem__, column) for column in inside.T.tolist())
    equal = [*map(eq, map(add, lefts, rights), results)]
    if not all(equal):
        left, right, result = (tokens[index] for index in inside[equal.index(False)].tolist())
        raise TokbenchError(
            f"segmentation '{segmentation}': merge {equal.index(False)} joins {left.hex()} and {right.hex()} "
            f"into {result.hex()}; correct the result"
        )
    if len(outside):
        ids = ", ".join(map(str, merges[outside[0]].tolist()))
        raise TokbenchError(
            f"segmentation '{segmentation}': merge {outside[0]} names an id outside the vocabulary of {len(tokens)} "
            f"tokens ({ids}); correct it"
        )
    return merges, byte_ids(vocabulary), joined_bytes(vocabulary)


def byte_ids(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return int32 [256], the id of each byte."""
    ids = {token: index for index, token in enumerate(vocabulary.tokens) if len(token) == 1}
    return np.array([ids[byte] for byte in BYTES], np.int32)


def joined_bytes(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Return uint8 [65536], 1 at ``256 a + b`` if some token contains byte a followed by byte b."""
    data, offsets = vocabulary.flat()
    inside = np.ones(max(len(data) - 1, 0), np.bool_)
    inside[offsets[1:-1] - 1] = False
    pairs = data[:-1].astype(np.int64) * 256 + data[1:]
    joined = np.zeros(65536, np.uint8)
    joined[pairs[inside]] = 1
    return joined
