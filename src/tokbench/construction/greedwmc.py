"""GreedWMC: weighted maximum coverage of adjacent bytes, the relaxation that GreedTok is compared with.

Lim, Choo and Lauw, "A partition cover approach to tokenization" (2025), sections 4.2 and 5. A token covers the pairs of
adjacent bytes at all its places, independent of other tokens. Coverage is submodular. The greedy choice therefore joins
at least 1 - 1/e of the optimum for the same number of tokens. GreedTok's share of it bounds GreedTok's distance from
the optimum.

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
    """Choose the substrings that cover the most pairs of adjacent bytes, until there are ``size`` tokens.

    Fewer tokens are returned if every pair is covered. Ties go to the shorter token, then to byte order. Arguments,
    results and errors are those of GreedTok's :func:`~tokbench.construction.greedtok.build`.
    """
    return Vocabulary(BYTES + choose_tokens(counts, size, options, choose, threads)[0])
