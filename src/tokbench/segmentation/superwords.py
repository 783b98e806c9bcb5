"""Superwords: events inside pre-tokens, then merges of adjacent pre-tokens that are single tokens.

Schmidt and others, "Boundless Byte Pair Encoding" (2025) and "Faster Superword Tokenization" (2026). Tokens may span
pre-tokens, so documents are segmented.

Reference: ``encode`` in :mod:`tokbench.reference.superwords`.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.events import EventSegmenter
from tokbench.kernels.superwords import SuperwordSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.events import History, event_segmenter, history_of
from tokbench.vocabulary import BYTES, Event, Vocabulary

NAME = "superwords"
HINT = "build the vocabulary again"


@segmentation(NAME, needs="supermerges", segments_documents=True, cites=("schmidt2025", "schmidt2026b"))
def superwords(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Replay the events in each pre-token, then apply supermerges in runs of pre-tokens.

    A run is a maximal sequence of pre-tokens that are one token and a part of some supermerge. In a run, the supermerge
    of the lowest rank is applied at all its places from left to right, until none applies. Its rank is its index in
    ``vocabulary.supermerges``. The events are those of ``vocabulary.events``, merges and removals.

    Raises:
        TokbenchError: the vocabulary has no supermerges or no events, or has continuation forms, or they do not result
            in its tokens; the message names the event, the supermerge or the token.
    """
    reject_continuation(vocabulary, NAME)
    if vocabulary.supermerges is None or vocabulary.events is None:
        missing = "events" if vocabulary.events is None else "supermerges"
        raise TokbenchError(
            f"segmentation '{NAME}': the vocabulary has no {missing}; use 'greedy' or 'shortest_path', "
            "or a vocabulary by boundlessbpe"
        )
    words = words_of(vocabulary.events)
    _check_supermerges(vocabulary, words)
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    sides = np.zeros(len(ids), np.bool_)
    sides[[ids[part] for pair in vocabulary.supermerges for part in pair if part in ids]] = True
    merges = [
        (ids[left], ids[right], ids[left + right])
        for left, right in vocabulary.supermerges
        if left in ids and right in ids
    ]
    return SuperwordSegmenter(word_segmenter(vocabulary), sides, np.array(merges, np.int32).reshape(-1, 3))


def words_of(events: tuple[Event, ...]) -> dict[bytes, None]:
    """Return the tokens that events leave, in order of their last creation, the 256 bytes first."""
    words = dict.fromkeys(BYTES)
    for event in events:
        if event.split:
            words.pop(event.token, None)
        else:
            words.setdefault(event.token)
    return words


def word_segmenter(vocabulary: Vocabulary) -> EventSegmenter:
    """Return the segmenter of pre-tokens by a vocabulary's events, with the ids of the vocabulary.

    Raises:
        TokbenchError: an event needs a token that does not exist at that point; the message names the event.
    """
    events = vocabulary.events or ()
    history = history_of(Vocabulary(tuple(words_of(events)), events=events), NAME)
    tokens = tuple(dict.fromkeys([*vocabulary.tokens, *history.tokens.tokens]))
    ids = {token: index for index, token in enumerate(tokens)}
    single: NDArray[np.bool_] = np.array([len(token) == 1 for token in vocabulary.tokens])
    return event_segmenter(History(Vocabulary(tokens), ids, history.events), Trie(*vocabulary.flat(), included=single))


def _check_supermerges(vocabulary: Vocabulary, words: dict[bytes, None]) -> None:
    """Check that supermerges join known tokens, and that they and the events result in the vocabulary's tokens."""
    known = {*BYTES, *(event.token for event in vocabulary.events or ())}
    tokens = set(words)
    for rank, (left, right) in enumerate(vocabulary.supermerges or ()):
        missing = next((part for part in (left, right) if part not in known), None)
        if missing is not None:
            raise TokbenchError(
                f"segmentation '{NAME}': supermerge {rank} needs the token {missing.hex()}, which nothing makes before "
                f"it; {HINT}"
            )
        known.add(left + right)
        tokens.add(left + right)
    if odd := tokens.symmetric_difference(vocabulary.tokens):
        raise TokbenchError(
            f"segmentation '{NAME}': events and supermerges do not result in the vocabulary's tokens "
            f"({min(odd).hex()} is in one of the two only); {HINT}"
        )
