"""BPE with post-trimming: train a vocabulary that is too large, then drop its rarest tokens.

Method of Cognetta et al., "An Analysis of BPE Vocabulary Trimming in Neural Machine Translation" (2024), with a number
of tokens instead of a frequency threshold. It is the baseline in "BPE Gets Picky" (2024), table 3: BPE is trained with
as many extra tokens as Picky BPE removes.

Reference: ``train_picky_bpe`` in :mod:`tokbench.reference.bpe`, with a threshold of 1, for all but the trimming.
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
    """Number of tokens to train beyond the size and then drop. Default: the number that Picky BPE has removed, and not
    restored, when it reaches the size."""

    threshold: float = Field(0.9, gt=0, le=1)
    """Picky BPE's threshold if ``extra`` is absent."""


@construction(
    "bpe_trimmed", options=BpeTrimmedOptions, segmentation="post_removal", cites=("cognetta2024", "chizhov2024")
)
def build(
    counts: PretokenCounts, size: int, options: BpeTrimmedOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge as BPE to more than ``size`` tokens, then drop the rarest ones outside the alphabet.

    Frequencies are those in the text at the end of training. Of equally frequent tokens the last created is dropped
    first.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes and the alphabet's characters. Fewer are returned if no
            pair is left to merge.
        options: alphabet and number of extra tokens.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        The remaining tokens in order of creation. The events are all merges, then one split per dropped token, which
        follows the merges that created it back to remaining tokens.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or the alphabet is larger than ``size``.
    """
    extra = _removed_by_picky(counts, size, options) if options.extra is None else options.extra
    alphabet, training = train(counts, size, options, 1.0, "bpe_trimmed")
    training.run(size + extra)
    tokens, merges = spell_out(training, alphabet)
    _, frequencies = training.state()
    ids = np.arange(len(alphabet), len(tokens))
    rarest = ids[np.lexsort((-ids, frequencies[ids]))]
    dropped = {tokens[index] for index in rarest[: max(0, len(tokens) - size)].tolist()}
    parts_by_token = {merge.token: merge.parts for merge in merges}
    splits = tuple(
        Event(True, _remaining_parts(token, parts_by_token, dropped)) for token in tokens if token in dropped
    )
    return Vocabulary(tuple(token for token in tokens if token not in dropped), events=merges + splits)


def _removed_by_picky(counts: PretokenCounts, size: int, options: BpeTrimmedOptions) -> int:
    _, training = train(counts, size, options, options.threshold, "bpe_trimmed")
    present, _ = training.state()
    return int(np.count_nonzero(~present))


def _remaining_parts(
    token: bytes, parts_by_token: dict[bytes, tuple[bytes, ...]], dropped: Collection[bytes]
) -> tuple[bytes, ...]:
    parts, pending = [], [token]
    while pending:
        part = pending.pop()
        if part in dropped:
            pending.extend(reversed(parts_by_token[part]))
        else:
            parts.append(part)
    return tuple(parts)
