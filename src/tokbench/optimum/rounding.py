"""The paper's roundings of shares to vocabularies."""

import numpy as np
from numpy.typing import NDArray

from tokbench.optimum.graph import Graph

WHOLE = 0.999
"""A share that counts as whole."""


def rounded(graph: Graph, shares: NDArray[np.float64], rounding: str, seed: int) -> NDArray[np.int64]:
    """The tokens that a rounding takes.

    Args:
        graph: the text.
        shares: float64 [tokens], from 0 to 1.
        rounding: ``det``, ``bias``, ``int`` or ``prob``.
        seed: of ``prob``, which draws by Gumbel's keys.

    Returns:
        int64 [at most K], the greatest first; ties go to the longer, then to the lesser bytes. Where fewer than K have
        a share, the others follow by what they could save, except by ``int``.
    """
    lengths = (graph.places[:, 1] - graph.places[:, 0]).astype(np.int64)
    positive = shares > 0
    keys = shares
    if rounding == "bias":
        keys = shares / lengths
    elif rounding == "prob":
        noise = np.random.default_rng(seed).gumbel(size=len(shares))
        keys = np.full(len(shares), -np.inf)
        keys[positive] = np.log(shares[positive]) + noise[positive]
    order = np.lexsort((-lengths, -keys, -positive.astype(np.int8)))
    if rounding == "int":
        return order[shares[order] > WHOLE][: graph.limit]
    with_share = order[: int(positive.sum())][: graph.limit]
    others = np.flatnonzero(~positive)
    others = others[np.lexsort((-lengths[others], -graph.most_saved[others]))]
    return np.concatenate([with_share, others[: graph.limit - len(with_share)]])
