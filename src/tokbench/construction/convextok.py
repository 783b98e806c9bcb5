"""ConvexTok: the linear relaxation of the fewest tokens, rounded (Tempus, Whittington, Schmidt, Komm, Pimentel 2026).

Which K tokens make the text shortest under shortest paths is an integer program. Its relaxation is solved by prices
(see :mod:`tokbench.optimum`), which tell of every vocabulary how far it can be from the best. The paper rounds the
shares of tokens that the relaxation takes; so does this, or it takes the best of all vocabularies that it met.

Reference: ``relaxation`` in :mod:`tokbench.reference.bounds`.
"""

from typing import Literal

from pydantic import Field

from tokbench.candidates.initial import check_size
from tokbench.construction import construction
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.bound import rounded, search
from tokbench.optimum.graph import graph_of
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


class ConvexTokOptions(Options):
    rounding: Literal["best", "det", "bias", "int", "prob"] = "best"
    """How the relaxation is rounded: ``best`` takes the shortest text of all roundings met, improved by exchanges. The
    paper's: the greatest shares (``det``), shares by length (``bias``), whole ones only (``int``), drawn (``prob``)."""

    gap: float = Field(0.001, ge=0)
    """The search ends where the text is longer than the bound by this share at most."""

    steps: int = Field(1000, ge=1)
    """Most steps of the search."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes; no limit when absent. Set it where pre-tokens are long: every substring is looked at."""

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token from which tokens are chosen, in bytes: memory and time grow with the square of the longest."""


@construction("convextok", options=ConvexTokOptions, segmentation="shortest_path", cites=("tempus2026",))
def build(
    counts: PretokenCounts, size: int, options: ConvexTokOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Choose the substrings by which shortest paths have the fewest tokens, as near as the relaxation leads.

    Args:
        counts: pre-tokens; no token crosses them.
        size: tokens wanted, the 256 bytes included. Fewer are returned where the pre-tokens have no more substrings,
            and by the rounding ``int``.
        options: how far to go, and how to round.
        seed: of the rounding ``prob``.
        threads: threads that sort; they do not show.

    Returns:
        The 256 bytes, then the tokens, the dearest first.

    Raises:
        TokbenchError: ``size`` is below 256, or the counts are too many for 63 bits.
    """
    check_size(size)
    kept, _ = counts.split_by_length(options.max_pretoken_bytes)
    graph = graph_of(kept, size, options.max_token_bytes, threads)
    found = search(graph, gap=options.gap, steps=options.steps, shares=options.rounding != "best", threads=threads)
    chosen = found.chosen if options.rounding == "best" else rounded(graph, found.shares, options.rounding, seed)
    return Vocabulary(BYTES + graph.spelt(chosen))
