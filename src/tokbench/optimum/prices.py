"""Prices of bytes in integers, and the bound that they prove."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.edges import relief
from tokbench.optimum.graph import Graph
from tokbench.pretokens import TOO_MUCH

FINEST = 1 << 16
"""Units of price to a token, where 63 bits allow it."""


@dataclass(frozen=True, eq=False)
class Proven:
    """A bound and what proves it.

    Attributes:
        bound: tokens that any vocabulary needs at least.
        scale: units of price to a token.
        prices: int64 [n], of every byte of the unique pre-tokens, in these units.
        threshold: what a substring saves, in tokens, that is the last to be let in.
    """

    bound: int
    scale: int
    prices: NDArray[np.int64]
    threshold: float


def proven(graph: Graph, potentials: NDArray[np.float64], threads: int = 1) -> Proven:
    """The bound that potentials of nodes prove, in integers throughout and over all substrings.

    Args:
        graph: the text; its ``groups`` are the substrings.
        potentials: float64 [nodes], the price of the bytes before each node of its word, in tokens.
        threads: threads to use; they do not show.

    Raises:
        TokbenchError: the counts are too great to add up prices in 63 bits.
    """
    scale = finest(graph)
    counts = graph.counts
    inner = np.ones(len(potentials), np.bool_)
    inner[graph.bounds[:-1]] = False
    lengths = np.diff(counts.offsets)
    most = np.repeat(counts.counts, lengths) * scale
    floor = np.floor(potentials * scale).astype(np.int64)
    prices = np.minimum(np.diff(floor, prepend=0)[inner], most)
    tried = (_of(graph, each, scale, threads) for each in (prices, plain(graph, scale)))
    return max(tried, key=lambda found: found.bound)


def plain(graph: Graph, scale: int) -> NDArray[np.int64]:
    """Prices that prove that each pre-token takes a token: its first byte costs one, the others nothing."""
    prices = np.zeros(len(graph.counts.data), np.int64)
    starts = graph.counts.offsets[:-1]
    prices[starts] = graph.counts.counts * scale
    return prices


def finest(graph: Graph) -> int:
    """The greatest scale, a power of two, at which no sum that the kernel makes leaves 63 bits."""
    lengths = np.diff(graph.counts.offsets).astype(np.float64)
    greatest = float((graph.counts.counts * lengths) @ lengths)
    if greatest >= 2.0**61:
        raise TokbenchError(f"the counts are too great to price bytes in 63 bits; {TOO_MUCH}")
    return min(FINEST, 1 << max(0, int(np.log2(2.0**61 / max(greatest, 1.0)))))


def _of(graph: Graph, prices: NDArray[np.int64], scale: int, threads: int) -> Proven:
    counts = graph.counts
    nodes = np.zeros(int(graph.bounds[-1]), np.int64)
    words = np.repeat(np.arange(len(counts)), np.diff(counts.offsets))
    running = np.concatenate([[0], np.cumsum(prices)])
    nodes[np.arange(len(prices)) + words + 1] = running[1:] - running[counts.offsets[:-1]][words]
    saved = relief(counts.offsets, counts.counts, graph.suffixes, graph.groups, nodes, scale, threads)
    threshold = 0
    if len(saved) > graph.limit:
        first = len(saved) - graph.limit
        saved = np.partition(saved, first)[first:] if graph.limit else saved[:0]
        threshold = int(saved[0]) if graph.limit else 0
    bound = -((sum(saved.tolist()) - int(running[-1])) // scale)
    return Proven(bound, scale, prices, threshold / scale)
