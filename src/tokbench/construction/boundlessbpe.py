"""BoundlessBPE: merges inside pre-tokens compete with merges of adjacent pre-tokens.

Schmidt, Reddy, Tanner and Pinter, "Boundless Byte Pair Encoding: Breaking the Pre-tokenization Barrier" (2025), in the
two phases of "Faster Superword Tokenization" (Schmidt, Tanner and Pinter, 2026). Phase 1 is byte-pair encoding of
pre-tokens. Phase 2 replays its merges, and makes a supermerge of two adjacent pre-tokens instead while that has a
larger count. Only pre-tokens that are one token after phase 1 may join, and only within a document.

The released code counts the 243 bytes of UTF-8. A size of N there is N + 13 here.

Reference: ``boundless`` in :mod:`tokbench.reference.superwords`.
"""

from typing import TYPE_CHECKING

from tokbench.candidates.superwords import SuperwordOptions, begin, events_of, next_supermerge
from tokbench.construction import construction
from tokbench.vocabulary import BYTES, Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents


@construction(
    "boundlessbpe",
    options=SuperwordOptions,
    segmentation="superwords",
    source="documents",
    cites=("schmidt2025", "schmidt2026b"),
)
def build(
    documents: "Documents", size: int, options: SuperwordOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Replay merges inside pre-tokens, or make supermerges with larger counts, until ``size`` tokens are present.

    Phase 1 has ``size`` tokens, so that it suffices without any supermerge. A supermerge is made if its count is larger
    than that of the next merge of phase 1 when that was made, and if both its parts are present. Ties of counts go to
    the merge of phase 1; ties of supermerges go to the smallest pair of byte strings.

    Args:
        documents: running text. The result does not depend on the order of the documents.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge. If that is so in phase 1,
            supermerges add more tokens, with a warning; the released code ends there.
        options: removals, rules of pairs, pre-tokens that may join, and splitting of runs.
        seed: not used; nothing is random.
        threads: number of threads that segment documents; the result does not depend on it.

    Returns:
        The 256 bytes, then the other tokens in order of their last creation, with the events of phase 1 that were
        replayed and the supermerges.

    Raises:
        TokbenchError: ``size`` is below 256, the unique pre-tokens have 2 GiB or more, or the documents are unreadable.
    """
    merges, _, training = begin(documents, size, options, threads, "boundlessbpe")
    present = dict.fromkeys(BYTES)
    supermerges: dict[tuple[bytes, bytes], None] = {}
    joined: set[bytes] = set()
    replayed = 0
    best = next_supermerge(training)
    while len(present) < size:
        rival = merges[replayed] if replayed < len(merges) else None
        if best is not None and (rival is None or best[1] > rival.pair_count) and present.keys() >= set(best[0]):
            token = b"".join(best[0])
            supermerges[best[0]] = None
            joined.add(token)
            present.setdefault(token)
            training.merge()
            best = next_supermerge(training)
        elif rival is not None:
            present.setdefault(rival.event.token)
            for removal in rival.removals:
                if removal.token not in joined:
                    present.pop(removal.token, None)
            replayed += 1
        else:
            break
    return Vocabulary(tuple(present), events=events_of(merges[:replayed]), supermerges=tuple(supermerges))
