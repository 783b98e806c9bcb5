"""BPE with post-trimming: train too large a vocabulary, then drop its rarest tokens.

Cognetta et al., "An Analysis of BPE Vocabulary Trimming in Neural Machine Translation" (2024); the baseline of "BPE
Gets Picky", section 6, which trains as many tokens too many as Picky BPE removes.
"""

import numpy as np
from pydantic import Field

from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options
from tokbench.tokens import BYTES, Event, Vocabulary
from tokbench.vocabulary import construction
from tokbench.vocabulary.picky_bpe import PickyBpeOptions, spell_out, train_without_removal
from tokbench.vocabulary.picky_bpe import build as build_picky_bpe


class BpeTrimmedOptions(Options):
    extra: int | None = Field(None, ge=0)
    """Tokens to train beyond the size and to drop again (r); by default as many as Picky BPE has removed and not
    restored when it reaches the size."""

    threshold: float = Field(0.9, gt=0, le=1)
    """Picky BPE's threshold, where `extra` is left to it."""


@construction("bpe_trimmed", options=BpeTrimmedOptions, segmentation="post_removal")
def build(
    counts: PretokenCounts, size: int, options: BpeTrimmedOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge as vanilla BPE to more than ``size`` tokens and drop the rarest, the 256 bytes excepted.

    A token's frequency is that in the text as training leaves it; of equal ones the token made last is dropped first.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted, the 256 bytes included. Fewer are returned when no pair is left to merge.
        options: how many tokens to train beyond it.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The remaining tokens in order of creation, with all merges and, after them, the dropped tokens' splits into
        remaining parts, by the merges that made them.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    extra = _removed_by_picky(counts, size, options.threshold) if options.extra is None else options.extra
    training = train_without_removal(counts, size + extra, "bpe_trimmed")
    tokens, merges = spell_out(training, BYTES)
    _, frequencies = training.state()
    ids = np.arange(len(BYTES), len(tokens))
    order = ids[np.lexsort((-ids, frequencies[ids]))]
    dropped = {tokens[index] for index in order[: max(0, len(tokens) - size)].tolist()}
    made = {merge.token: merge.parts for merge in merges}
    splits = tuple(
        Event(True, _remaining_parts(token, made, dropped)) for token in reversed(tokens) if token in dropped
    )
    return Vocabulary(tuple(token for token in tokens if token not in dropped), events=merges + splits)


def _removed_by_picky(counts: PretokenCounts, size: int, threshold: float) -> int:
    events = build_picky_bpe(counts, size, PickyBpeOptions(threshold=threshold)).events or ()
    last = {event.token: event.split for event in events}
    return sum(last.values())


def _remaining_parts(token: bytes, made: dict[bytes, tuple[bytes, ...]], dropped: set[bytes]) -> tuple[bytes, ...]:
    parts, pending = [], [token]
    while pending:
        part = pending.pop()
        if part in dropped:
            pending.extend(reversed(made[part]))
        else:
            parts.append(part)
    return tuple(parts)
