"""GreedWMC: weighted maximum coverage of adjacent bytes, the relaxation that GreedTok is measured against.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 4.2 and 5. A token covers the pairs
of adjacent bytes at all its places, whatever other tokens do. Coverage is submodular, so that the greedy choice joins
at least 1 - 1/e of what any choice of as many tokens could, and GreedTok's share of it bounds GreedTok's in turn.

Reference: :mod:`tokbench.reference.greedtok`.
"""

from tokbench.construction import construction
from tokbench.construction.greedtok import GreedTokOptions, choose_tokens
from tokbench.kernels.greedwmc import choose
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


@construction("greedwmc", options=GreedTokOptions, segmentation="cover", cites=("lim2025",))
def build(
    counts: PretokenCounts, size: int, options: GreedTokOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose the substrings that cover the most pairs of adjacent bytes, until there are ``size`` or all are covered.

    Ties go to the shorter token, then to the lesser bytes. Arguments, results and errors are those of GreedTok's
    :func:`~tokbench.construction.greedtok.build`; fewer tokens are returned when every pair is covered.
    """
    return Vocabulary(BYTES + choose_tokens(counts, size, options, choose, threads)[0])
