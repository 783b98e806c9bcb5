"""Graphs of pre-tokens with their possible tokens as edges, and bounds proven by integer prices of bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.candidates.initial import MAX_BYTES, check_bytes
from tokbench.errors import TokbenchError
from tokbench.kernels.edges import laid_out, relief, savings, token_edges
from tokbench.kernels.substrings import distinct_substrings
from tokbench.kernels.threads import over_ranges
from tokbench.pretokens import TOO_MUCH, PretokenCounts
from tokbench.vocabulary import BYTES

LEAST_SHARE = 512
"""A substring is searched if its possible saving exceeds that of the K-th best divided by this number."""
MOST_PLACES = 1 << 28
"""Limit on places of substrings, each of which may become an edge of eight bytes; long pre-tokens have many."""
FINEST_SCALE = 1 << 16
"""Units of price per token, if sums fit in 63 bits."""


class TooManyPlacesError(TokbenchError):
    """The substrings of the pre-tokens occur in too many places."""


@dataclass(frozen=True, eq=False)
class SubstringGraph:
    """Pre-tokens, their substrings, and edges for substrings that may matter.

    Attributes:
        counts: the pre-tokens.
        limit: largest number of tokens of a vocabulary in addition to the 256 bytes.
        suffixes: int32 [n], from :func:`~tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from the same function: all substrings.
        bounds: int64 [words + 1], first node of each pre-token.
        places: int32 [tokens, 2], start and end of an occurrence of each token that is searched.
        first: int64 [nodes + 1], first edge of each node.
        starts: int32 [edges], node at which each edge starts.
        tokens: int32 [edges], token of each edge.
    """

    counts: PretokenCounts
    limit: int
    suffixes: NDArray[np.int32]
    groups: NDArray[np.int32]
    bounds: NDArray[np.int64]
    places: NDArray[np.int32]
    first: NDArray[np.int64]
    starts: NDArray[np.int32]
    tokens: NDArray[np.int32]

    @property
    def candidates(self) -> int:
        """Number of all substrings of two or more bytes."""
        return int((self.groups[:, 3].astype(np.int64) - self.groups[:, 2] + 1).sum())

    @property
    def possible_savings(self) -> NDArray[np.float64]:
        """Possible saving of each token, float64 [tokens]: weighted number of places, times its bytes minus one."""
        words = np.repeat(np.arange(len(self.counts), dtype=np.int32), np.diff(self.bounds))
        weights = self.counts.counts.astype(np.float64)[words[self.starts]]
        fits = np.bincount(self.tokens, weights, len(self.places))
        return fits * (self.places[:, 1] - self.places[:, 0] - 1)

    def spell(self, tokens: NDArray[np.int64]) -> tuple[bytes, ...]:
        """Return the bytes of tokens."""
        text = self.counts.data.tobytes()
        return tuple(text[start:end] for start, end in self.places[tokens].tolist())


def graph_of(counts: PretokenCounts, size: int, longest: int | None = None, threads: int = 1) -> SubstringGraph:
    """Build the graph of a text.

    Args:
        counts: pre-tokens of the text.
        size: tokens of the vocabulary, including the 256 bytes.
        longest: longest token, in bytes (default: None, no limit).
        threads: number of threads (default: 1); results do not depend on it.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more.
        TooManyPlacesError: the pre-tokens are too long.
    """
    check_bytes(counts, "bound")
    limit = size - len(BYTES)
    suffixes, groups = distinct_substrings(counts.data, counts.offsets, longest or MAX_BYTES, threads)
    nodes, before = laid_out(counts.offsets, counts.counts, suffixes, threads)
    most = savings(before, groups, threads)
    least = int(np.partition(most, -limit)[-limit]) // LEAST_SHARE if 0 < limit < len(most) else 0
    places = sum(over_ranges(lambda first, last: _places(groups[first:last]), len(groups), threads))
    if places > MOST_PLACES:
        raise TooManyPlacesError(
            f"the substrings of the pre-tokens occur in {places:,} places, more than {MOST_PLACES:,}; limit "
            "their length (max_token_bytes, --max-token-bytes)"
        )
    edges = token_edges(nodes, before, suffixes, groups, len(counts), least, threads)
    bounds = counts.offsets + np.arange(len(counts.offsets))
    return SubstringGraph(counts, limit, suffixes, groups, bounds, *edges)


def _places(groups: NDArray[np.int32]) -> int:
    """Return the number of places of the substrings of some groups."""
    return int((groups[:, 1] - groups[:, 0]).astype(np.int64) @ (groups[:, 3] - groups[:, 2] + 1).astype(np.int64))


@dataclass(frozen=True, eq=False)
class ProvenBound:
    """A bound and its proof.

    Attributes:
        bound: tokens that any vocabulary needs at least.
        scale: units of price per token.
        prices: int64 [n], prices of all bytes of the unique pre-tokens, in these units.
        threshold: least saving among the K best substrings, in tokens.
    """

    bound: int
    scale: int
    prices: NDArray[np.int64]
    threshold: float


def prove_bound(graph: SubstringGraph, potentials: NDArray[np.float64], threads: int = 1) -> ProvenBound:
    """Compute the bound proven by potentials of nodes, in integers and over all substrings.

    Args:
        graph: the text.
        potentials: float64 [nodes], total price of the bytes before each node of its pre-token, in tokens.
        threads: number of threads (default: 1); results do not depend on it.

    Raises:
        TokbenchError: the counts are too large for sums of prices in 63 bits.
    """
    scale = price_scale(graph)
    counts = graph.counts
    inner = np.ones(len(potentials), np.bool_)
    inner[graph.bounds[:-1]] = False
    lengths = np.diff(counts.offsets)
    most = np.repeat(counts.counts, lengths) * scale
    floor = np.floor(potentials * scale).astype(np.int64)
    prices = np.minimum(np.diff(floor, prepend=0)[inner], most)
    proofs = (_bound_of(graph, candidate, scale, threads) for candidate in (prices, plain_prices(graph, scale)))
    return max(proofs, key=lambda proof: proof.bound)


def plain_prices(graph: SubstringGraph, scale: int) -> NDArray[np.int64]:
    """Return prices that prove one token per pre-token: its first byte costs one token, the others nothing."""
    prices = np.zeros(len(graph.counts.data), np.int64)
    starts = graph.counts.offsets[:-1]
    prices[starts] = graph.counts.counts * scale
    return prices


def price_scale(graph: SubstringGraph) -> int:
    """Return the greatest power of two as scale for which all sums of the kernel fit in 63 bits."""
    lengths = np.diff(graph.counts.offsets).astype(np.float64)
    greatest = float((graph.counts.counts * lengths) @ lengths)
    if greatest >= 2.0**61:
        raise TokbenchError(f"the counts are too great to price bytes in 63 bits; {TOO_MUCH}")
    return min(FINEST_SCALE, 1 << max(0, int(np.log2(2.0**61 / max(greatest, 1.0)))))


def _bound_of(graph: SubstringGraph, prices: NDArray[np.int64], scale: int, threads: int) -> ProvenBound:
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
    return ProvenBound(bound, scale, prices, threshold / scale)
