"""Events: merges and removals of a vocabulary, replayed in the order in which they happened.

Chizhov et al., "BPE Gets Picky" (2024), section 3 and algorithm 2. A pre-token that is a token is not split, as in the
released code.

Reference: ``by_events`` in :mod:`tokbench.reference.segmentation`.
"""

from dataclasses import dataclass

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.events import EventSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.merge import joined_bytes
from tokbench.vocabulary import BYTES, Event, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Events that make a vocabulary from single bytes.

    Attributes:
        tokens: Tokens of the vocabulary, followed by removed tokens in order of first creation.
        ids: Id of each token.
        events: Merges of bytes into the characters of the alphabet, removals of incomplete characters, and then the
            events of the vocabulary.
    """

    tokens: Vocabulary
    ids: dict[bytes, int]
    events: tuple[Event, ...]


@segmentation("events", needs="events", cites=("chizhov2024",))
def events(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Replay merges and removals in order, each at every match. A pre-token that is a token is not split.

    Raises:
        TokbenchError: the vocabulary has no events or has continuation forms, or the events do not result in its
            tokens; the message names the event or the token.
    """
    return event_segmenter(history_of(vocabulary, "events"), Trie(*vocabulary.flat()))


def event_segmenter(history: History, whole: Trie) -> EventSegmenter:
    """Return the segmenter that replays a history; ``whole`` has the pre-tokens that are not split."""
    bounds = np.zeros(len(history.events) + 1, np.int64)
    np.cumsum([len(event.parts) for event in history.events], out=bounds[1:])
    return EventSegmenter(
        whole,
        np.array([history.ids[byte] for byte in BYTES], np.int32),
        np.array([history.ids[event.token] for event in history.events], np.int32),
        np.array([event.split for event in history.events], np.bool_),
        bounds,
        np.array([history.ids[part] for event in history.events for part in event.parts], np.int32),
        np.array([len(token) for token in history.tokens.tokens], np.int32),
        joined_bytes(history.tokens),
    )


def history_of(vocabulary: Vocabulary, segmentation: str) -> History:
    """Validate a vocabulary's events, prepend those for single bytes, and number all tokens.

    Raises:
        TokbenchError: as :func:`events`.
    """
    reject_continuation(vocabulary, segmentation)
    if vocabulary.events is None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary has no events; use 'greedy' or 'shortest_path', "
            "or a vocabulary by picky_bpe"
        )
    merged = dict.fromkeys(event.token for event in vocabulary.events if not event.split)
    alphabet = [token for token in vocabulary.tokens if token not in merged]
    # Replay: every event needs its parts, and a removal needs a token that a merge made.
    present = set(alphabet)
    for number, event in enumerate(vocabulary.events):
        needed = [*event.parts, event.token] if event.split else event.parts
        missing = next((token for token in needed if token not in present), None)
        if missing is not None:
            raise TokbenchError(
                f"segmentation '{segmentation}': event {number} needs the token {missing.hex()}, which does not "
                "exist at that point; build the vocabulary again"
            )
        if len(event.parts) < 2 or (len(event.parts) > 2 and not event.split):
            raise TokbenchError(
                f"segmentation '{segmentation}': event {number} has {len(event.parts)} parts, and a merge has two, "
                "a removal two or more; build the vocabulary again"
            )
        if event.split and event.token not in merged:
            raise TokbenchError(
                f"segmentation '{segmentation}': event {number} removes {event.token.hex()}, which no merge makes; "
                "build the vocabulary again"
            )
        (present.discard if event.split else present.add)(event.token)
    if odd := present.symmetric_difference(vocabulary.tokens):
        raise TokbenchError(
            f"segmentation '{segmentation}': the events do not result in the vocabulary's tokens "
            f"({min(odd).hex()} is in one of the two only); build the vocabulary again"
        )
    # Tokens of the vocabulary have the first ids, removed ones the last.
    history = tuple(_spelling(alphabet, segmentation)) + vocabulary.events
    tokens = tuple(dict.fromkeys([*vocabulary.tokens, *(event.token for event in history)]))
    return History(Vocabulary(tokens), {token: index for index, token in enumerate(tokens)}, history)


def _spelling(alphabet: list[bytes], segmentation: str) -> list[Event]:
    """Return the events that join bytes into the characters of an alphabet and leave the other bytes unchanged."""
    characters = [token for token in alphabet if len(token) > 1]
    for token in characters:
        character = token.decode(errors="replace")
        if len(character) > 1 or character.encode() != token:
            raise TokbenchError(
                f"segmentation '{segmentation}': no event makes the token {token.hex()}, which is not a single "
                "character; build the vocabulary again"
            )
    steps = dict.fromkeys(token[:end] for end in range(2, 5) for token in characters if len(token) >= end)
    merges = [Event(False, (step[:-1], step[-1:])) for step in steps]
    whole = set(characters)
    return merges + [Event(True, tuple(BYTES[byte] for byte in step)) for step in steps if step not in whole]
