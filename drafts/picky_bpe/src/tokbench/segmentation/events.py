"""Events: replay the merges and removals of a vocabulary in the order in which they happened.

"BPE Gets Picky", section 3 and algorithm 2. A pre-token that is a token is left whole, as in the released code.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.events import EventSegmenter
from tokbench.kernels.trie import Trie
from tokbench.registry import Options, TokbenchError
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.forms import refuse_forms
from tokbench.segmentation.merge import joined_bytes
from tokbench.tokens import Event, Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A vocabulary's events in ids, with its removed tokens.

    Attributes:
        extended: the vocabulary's tokens, then the removed ones in order of first creation.
        atoms: bool [tokens], the alphabet: what no merge makes.
        ids: the id of every token of ``extended``.
        events: the events.
    """

    extended: Vocabulary
    atoms: NDArray[np.bool_]
    ids: dict[bytes, int]
    events: tuple[Event, ...]


@segmentation("events", needs="events")
def events(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Replay merges and removals in their order; a pre-token that is a token is left whole.

    The earliest event that applies is done wherever it applies, from left to right, and no earlier one after it. Time
    is O(n log n) in the length of a pre-token.

    Raises:
        TokbenchError: the vocabulary has no events or has continuation forms, or its tokens are not those that the
            events leave; the message names the event or the token.
    """
    replay = replay_of(vocabulary, "events")
    whole = np.arange(len(replay.extended)) < len(vocabulary)
    return EventSegmenter(
        Trie(*replay.extended.flat(), whole),
        Trie(*replay.extended.flat(), replay.atoms),
        *event_rows(replay, replay.events),
        joined_bytes(replay.extended),
        True,
        replay.extended.flat()[1],
    )


def replay_of(vocabulary: Vocabulary, segmentation: str) -> Replay:
    """Check a vocabulary's events and number the tokens that they name.

    Raises:
        TokbenchError: see :func:`events`.
    """
    refuse_forms(vocabulary, segmentation)
    if vocabulary.events is None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary has no events; use 'greedy' or 'shortest_path', "
            "or a vocabulary by picky_bpe"
        )
    made = dict.fromkeys(event.token for event in vocabulary.events if not event.split)
    present = {token for token in vocabulary.tokens if token not in made}
    for number, event in enumerate(vocabulary.events):
        missing = [part for part in event.parts if part not in present]
        if missing or (event.split and event.token not in present):
            raise TokbenchError(
                f"segmentation '{segmentation}': event {number} needs the token {(missing or [event.token])[0].hex()}, "
                "which is not there at that moment; build the vocabulary again"
            )
        if event.split and event.token not in made:
            raise TokbenchError(
                f"segmentation '{segmentation}': event {number} removes {event.token.hex()}, which no merge makes; "
                "build the vocabulary again"
            )
        (present.discard if event.split else present.add)(event.token)
    if odd := present.symmetric_difference(vocabulary.tokens):
        raise TokbenchError(
            f"segmentation '{segmentation}': the events do not leave the vocabulary's tokens "
            f"({min(odd).hex()} is in one of the two only); build the vocabulary again"
        )
    extended = Vocabulary(vocabulary.tokens + tuple(token for token in made if token not in present))
    ids = {token: index for index, token in enumerate(extended.tokens)}
    return Replay(extended, np.array([token not in made for token in extended.tokens]), ids, vocabulary.events)


def event_rows(
    replay: Replay, chosen: tuple[Event, ...]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Events as the kernel takes them.

    Returns:
        made: int32 [e, 2], the token and 1 where it was removed, else 0.
        bounds: int64 [e + 1], where each event's parts start.
        parts: int32, ids of the parts.
    """
    made = np.array([(replay.ids[event.token], event.split) for event in chosen], np.int32).reshape(-1, 2)
    bounds = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum([len(event.parts) for event in chosen], out=bounds[1:])
    parts = np.array([replay.ids[part] for event in chosen for part in event.parts], np.int32)
    return made, bounds, parts


