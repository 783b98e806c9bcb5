"""Post-removal: byte-pair encoding with all merges, removed tokens included, which are then split.

How Scaffold-BPE (Lian et al. 2024) and trimmed vocabularies (Cognetta et al. 2024) cut text; "BPE Gets Picky",
appendix on inference options and Table 6, compares it with segmentation by events.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.events import EventSegmenter, PostRemovalSegmenter
from tokbench.kernels.trie import Trie
from tokbench.registry import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.events import Replay, event_rows, replay_of
from tokbench.segmentation.merge import joined_bytes
from tokbench.tokens import Vocabulary


@segmentation("post_removal", needs="events")
def post_removal(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Join the adjacent pair of the lowest rank until none has one, then split the tokens that were removed.

    The rank of a pair is the place of its first merge among the events. A removed token gives way to the parts of its
    last removal, and those to theirs, until all are in the vocabulary. Time is O(n log n) in the length of a pre-token.

    Raises:
        TokbenchError: the vocabulary has no events or has continuation forms, or its tokens are not those that the
            events leave; the message names the event or the token.
    """
    replay = replay_of(vocabulary, "post_removal")
    merges = tuple(dict.fromkeys(event for event in replay.events if not event.split))
    merger = EventSegmenter(
        None,
        Trie(*replay.extended.flat(), replay.atoms),
        *event_rows(replay, merges),
        joined_bytes(replay.extended),
        False,
        replay.extended.flat()[1],
    )
    return PostRemovalSegmenter(merger, len(vocabulary), *_expansions(vocabulary, replay))


def _expansions(vocabulary: Vocabulary, replay: Replay) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """What each removed token becomes: int64 [removed + 1] bounds, int32 ids of the vocabulary."""
    parts = {event.token: event.parts for event in replay.events if event.split}
    bounds, ids = [0], []
    for token in replay.extended.tokens[len(vocabulary) :]:
        pending = [token]
        while pending:
            part = pending.pop()
            if replay.ids[part] < len(vocabulary):
                ids.append(replay.ids[part])
            else:
                pending.extend(reversed(parts[part]))
        bounds.append(len(ids))
    return np.array(bounds, np.int64), np.array(ids, np.int32)
