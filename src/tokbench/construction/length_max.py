"""Length-MAX: repeatedly choose the substring with the greatest product of length and frequency.

Dong and Su, "Length-MAX Tokenizer for Language Models" (2025). From the paper: the vocabulary starts with single
characters. Of all n-grams of the current tokens, up to a largest length, the one with the greatest product of frequency
and length becomes a token, and its occurrences are replaced by it. This repeats until the vocabulary has its size. Text
is then segmented by the longest match from the left. The paper has no pre-tokenization, so that tokens contain spaces;
``none`` does the same.

Our reading, where the paper is open or another choice fits this package better:

- The vocabulary starts with the 256 bytes, and lengths are in bytes. The paper has characters.
- Frequencies are exact. The paper's scoreboard has the best n-grams of each shard, found by rolling hashes.
- Overlapping occurrences all count. The first of them from the left is replaced.
- Ties go to the shorter token, then to byte order.
- The largest length is 16, or ``max_token_bytes``. The paper names 16 in one place and 64 in another.
- A token occurs at least twice, or ``min_count`` times, as in the package `length-tokenizer-rs
  <https://pypi.org/project/length-tokenizer-rs>`_. The package scores an n-gram of k tokens by k - 1 times its
  frequency, which is the gain of :mod:`tokbench.construction.greedtok` except where occurrences overlap.

All occurrences of a string between two token boundaries consist of the same tokens. So an n-gram is its bytes, and
counts only decrease.

Reference: :mod:`tokbench.reference.length_max`.
"""

from functools import partial

import numpy as np
from pydantic import Field

from tokbench.candidates.initial import MAX_BYTES
from tokbench.construction import construction
from tokbench.construction.greedtok import GreedTokOptions, choose_tokens
from tokbench.errors import TokbenchError
from tokbench.kernels.length_max import choose
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


class LengthMaxOptions(GreedTokOptions):
    max_token_bytes: int | None = Field(16, ge=2)
    """Longest token, in bytes."""

    min_count: int = Field(2, ge=1)
    """Smallest frequency of a substring that becomes a token."""


@construction("length_max", options=LengthMaxOptions, segmentation="greedy", cites=("dong2025",))
def build(
    counts: PretokenCounts, size: int, options: LengthMaxOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose the substrings with the greatest product of length and frequency until there are ``size`` tokens.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if no other
            substring is frequent enough.
        options: candidates and limits.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The 256 bytes, then the tokens in order of choice.

    Raises:
        TokbenchError: ``size`` is below 256, the text times the longest token has 2^62 bytes or more, the unique
            pre-tokens have 2 GiB or more, or the candidates file is unreadable.
    """
    longest = min(options.max_token_bytes or MAX_BYTES, int(np.diff(counts.offsets).max(initial=0)))
    if counts.total_bytes * longest >= 1 << 62:
        raise TokbenchError(
            f"length_max: {counts.total_bytes} bytes of text times {longest} bytes of the longest token exceed 62 "
            "bits; set max_token_bytes"
        )
    return Vocabulary(
        BYTES + choose_tokens(counts, size, options, partial(choose, least=options.min_count), threads)[0]
    )
