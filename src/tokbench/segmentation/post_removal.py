"""Post-removal: byte-pair encoding with all merges, including those of removed tokens, which are split afterwards.

Used for trimmed vocabularies (Cognetta et al. 2024) and Scaffold-BPE (Lian et al. 2024). "BPE Gets Picky", appendix A
and table 6, compares it with segmentation by events.

Reference: ``post_removal`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.post_removal import PostRemovalSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.events import History, history_of
from tokbench.segmentation.merge import joined_bytes
from tokbench.vocabulary import BYTES, Vocabulary


class PostRemovalOptions(Options):
    whole_tokens: bool = True
    """Do not split a pre-token that is a token, as in segmentation by events (default: True). Merges by rank can miss a
    token only in vocabularies by Picky BPE: there, parts of a token may be removed before other parts are merged.
    """


@segmentation(
    "post_removal", options=PostRemovalOptions, needs="events", cites=("cognetta2024", "lian2024", "chizhov2024")
)
def post_removal(vocabulary: Vocabulary, options: PostRemovalOptions) -> Segmenter:
    """Join the adjacent pair of the lowest rank until none has a rank, then split the removed tokens.

    The rank of a pair is the index of its first merge among the events. A removed token is replaced by the parts of its
    last removal, repeatedly, until all parts are in the vocabulary. Time is O(n log n) in the length of a pre-token.

    Raises:
        TokbenchError: the vocabulary has no events or has continuation forms, or the events do not result in its
            tokens; the message names the event or the token.
    """
    history = history_of(vocabulary, "post_removal")
    ids = history.ids
    merges = [
        (ids[event.parts[0]], ids[event.parts[1]], ids[event.token]) for event in history.events if not event.split
    ]
    byte_ids = np.array([ids[byte] for byte in BYTES], np.int32)
    merger = MergeSegmenter(np.array(merges, np.int32).reshape(-1, 3), byte_ids, joined_bytes(history.tokens))
    whole = Trie(*vocabulary.flat()) if options.whole_tokens else None
    return PostRemovalSegmenter(merger, whole, len(vocabulary), *_expansions(vocabulary, history))


def _expansions(vocabulary: Vocabulary, history: History) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the replacement of each removed token: bounds, int64 [removed + 1], and ids in the vocabulary, int32."""
    parts = {event.token: event.parts for event in history.events if event.split}
    bounds, ids = [0], []
    for token in history.tokens.tokens[len(vocabulary) :]:
        pending = [token]
        while pending:
            part = pending.pop()
            if history.ids[part] < len(vocabulary):
                ids.append(history.ids[part])
            else:
                pending.extend(reversed(parts[part]))
        bounds.append(len(ids))
    return np.array(bounds, np.int64), np.array(ids, np.int32)
