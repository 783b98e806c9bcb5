"""Tokens added and later removed during construction, as in Picky BPE.

Source: "BPE Gets Picky", appendix "Number of added/removed tokens": tokens whose last event is a removal. The same
number of other tokens replaced them.
"""

import numpy as np

from tokbench.metric import Shown, metric
from tokbench.metric.length import CHARACTERS, INITIAL, character_length
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.vocabulary import TokenList, Vocabulary

NONE_REMOVED = "no token was removed"
OF_REMOVED = "/ removed tokens"
NO_RECORD = "the vocabulary keeps no record of removals"


def removed_tokens(vocabulary: Vocabulary | TokenList) -> list[bytes]:
    """Return the tokens whose last event is a removal, in the order of their first event."""
    last = {event.token: event.split for event in vocabulary.events or ()}
    return [token for token, split in last.items() if split]


@metric(
    "removed",
    of_ids=True,
    cites=("chizhov2024",),
    shown=(
        Shown("removed_tokens", "vocabulary", "removed while built"),
        Shown("word_initial_share", "vocabulary", "removed that begin with a space", OF_REMOVED),
        Shown("mean_token_length", "lengths", "characters, removed while built", OF_REMOVED),
    ),
)
def removed(usage: Usage | EncodedText, options: object) -> list[Measurement]:
    """Return the number of removed tokens, the share that begins with a space, and their mean length."""
    if usage.vocabulary is None:
        return []
    events = usage.vocabulary.events
    tokens = removed_tokens(usage.vocabulary)
    n = len(tokens)
    initial = sum(token[0] == 0x20 for token in tokens)
    rows = [
        Measurement("removed_tokens", "tokens made and removed for good", float(n), len(events or ())),
        ratio("word_initial_share", f"removed {INITIAL} {OF_REMOVED}", initial, n, NONE_REMOVED),
        ratio(
            "mean_token_length",
            f"{CHARACTERS} {OF_REMOVED}",
            int(np.sum([character_length(token) for token in tokens], dtype=np.int64)),
            n,
            NONE_REMOVED,
        ),
    ]
    if events is None:
        return [Measurement(row.metric, row.definition, None, 0, NO_RECORD) for row in rows]
    return rows
