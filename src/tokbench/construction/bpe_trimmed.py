"""BPE with post-trimming: train too large a vocabulary, then drop its rarest tokens.

Cognetta et al., "An Analysis of BPE Vocabulary Trimming in Neural Machine Translation" (2024), with a number of tokens
in the place of their threshold of frequency: the baseline of "BPE Gets Picky" (2024), table 3, where BPE is trained to
as many tokens too many as Picky BPE removes.

Reference: ``picky_bpe`` in :mod:`tokbench.reference.bpe`, with a threshold of 1, for all but the trimming.
"""

from collections.abc import Collection

import numpy as np
from pydantic import Field

from tokbench.construction import construction
from tokbench.construction.picky_bpe import AlphabetOptions, spell_out, train
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import Event, Vocabulary


class BpeTrimmedOptions(AlphabetOptions):
    extra: int | None = Field(None, ge=0)
    """Tokens to train beyond the size and to drop again; as many as Picky BPE has removed when it reaches the size,
    those that it restores not counted, when absent."""

    threshold: float = Field(0.9, gt=0, le=1)
    """Picky BPE's threshold, where `extra` is absent."""


@construction(
    "bpe_trimmed", options=BpeTrimmedOptions, segmentation="post_removal", cites=("cognetta2024", "chizhov2024")
)
def build(
    counts: PretokenCounts, size: int, options: BpeTrimmedOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge as BPE to more than ``size`` tokens and drop the rarest, the alphabet excepted.

    A token's frequency is that in the text as training leaves it; of equal ones the token made last is dropped first.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted, the 256 bytes and the alphabet's characters included. Fewer are returned when no pair is
            left to merge.
        options: the alphabet, and how many tokens to train beyond the size.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The remaining tokens in order of creation, with all merges and, after them, the dropped tokens' splits into
        remaining ones, by the merges that made them.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    extra = _removed_by_picky(counts, size, options) if options.extra is None else options.extra
    alphabet, training = train(counts, size, options, 1.0, "bpe_trimmed")
    training.run(size + extra)
    tokens, merges = spell_out(training, alphabet)
    _, frequencies = training.state()
    ids = np.arange(len(alphabet), len(tokens))
    rarest = ids[np.lexsort((-ids, frequencies[ids]))]
    dropped = {tokens[index] for index in rarest[: max(0, len(tokens) - size)].tolist()}
    made = {merge.token: merge.parts for merge in merges}
    splits = tuple(Event(True, _remaining_parts(token, made, dropped)) for token in tokens if token in dropped)
    return Vocabulary(tuple(token for token in tokens if token not in dropped), events=merges + splits)


def _removed_by_picky(counts: PretokenCounts, size: int, options: BpeTrimmedOptions) -> int:
    _, training = train(counts, size, options, options.threshold, "bpe_trimmed")
    present, _ = training.state()
    return int(np.count_nonzero(~present))


def _remaining_parts(
    token: bytes, made: dict[bytes, tuple[bytes, ...]], dropped: Collection[bytes]
) -> tuple[bytes, ...]:
    parts, pending = [], [token]
    while pending:
        part = pending.pop()
        if part in dropped:
            pending.extend(reversed(made[part]))
        else:
            parts.append(part)
    return tuple(parts)
