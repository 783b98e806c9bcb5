"""ConvexTok: rounded linear relaxation of the shortest text (Tempus, Whittington, Schmidt, Komm, Pimentel 2026).

Choosing the K tokens that make the text shortest under shortest-path segmentation is an integer program. Its relaxation
is solved by prices (see :mod:`tokbench.optimum`), which bound the distance of every vocabulary from the best one. The
paper rounds the relaxation's shares of tokens. This module also offers the best of all vocabularies found on the way.

Reference: ``ascend`` in :mod:`tokbench.reference.bounds`.
"""

from typing import Literal

from pydantic import Field

from tokbench.candidates.initial import check_size
from tokbench.construction import construction
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.graph import graph_of
from tokbench.optimum.local_search import round_shares
from tokbench.optimum.search import search
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


class ConvexTokOptions(Options):
    rounding: Literal["best", "det", "bias", "int", "prob"] = "best"
    """Rounding of the relaxation. ``best`` (default) is the shortest text of all roundings tried, improved by
    exchanges. The paper's are the greatest shares (``det``), shares by length (``bias``), only shares of one (``int``),
    and a random draw (``prob``)."""

    gap: float = Field(0.001, ge=0)
    """The search ends when the text is longer than the bound by at most this share."""

    steps: int = Field(1000, ge=1)
    """Largest number of search steps."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit. Set it if pre-tokens are long, because every substring is a
    candidate."""

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token that tokens are chosen from, in bytes. Memory and time grow with the square of the longest."""


@construction("convextok", options=ConvexTokOptions, segmentation="shortest_path", cites=("tempus2026",))
def build(
    counts: PretokenCounts, size: int, options: ConvexTokOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose the substrings that give nearly the fewest tokens under shortest-path segmentation.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if the pre-tokens have fewer
            substrings, and by the rounding ``int``.
        options: precision of the search and kind of rounding.
        seed: seed of the rounding ``prob``.
        threads: number of threads for sorting. The result does not depend on it.

    Returns:
        The 256 bytes, then the tokens by descending price.

    Raises:
        TokbenchError: ``size`` is below 256, or the counts exceed 63 bits.
    """
    check_size(size)
    pretokens, _ = counts.split_by_length(options.max_pretoken_bytes)
    graph = graph_of(pretokens, size, options.max_token_bytes, threads)
    solution = search(graph, gap=options.gap, steps=options.steps, shares=options.rounding != "best", threads=threads)
    tokens = solution.vocabulary
    if options.rounding != "best":
        tokens = round_shares(graph, solution.shares, options.rounding, seed)
    return Vocabulary(BYTES + graph.spell(tokens))
