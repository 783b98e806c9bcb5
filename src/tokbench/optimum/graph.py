"""The words of a text as graphs: every substring that may become a token, and where it fits.

Prices of bytes in integers, and the bound that they prove.
"""

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
"""A substring takes part in the search if it could save more than this part of what the K-th best could."""
MOST_PLACES = 1 << 28
"""Places of substrings, each of which may become an edge of eight bytes: pre-tokens that are long have many."""


class TooManyPlacesError(TokbenchError):
    """Substrings stand in too many places."""


@dataclass(frozen=True, eq=False)
class SubstringGraph:
    """Words, their substrings, and the edges of those that could matter.

    Attributes:
        counts: the pre-tokens.
        limit: tokens that a vocabulary may hold beside the 256 bytes.
        suffixes: int32 [n], from :func:`~tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from there: all substrings.
        bounds: int64 [words + 1], each word's first node.
        places: int32 [tokens, 2], where a token stands in the text, of those that take part in the search.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], the node where each begins.
        tokens: int32 [edges], the token of each.
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
        """Substrings of two bytes and more, all of them."""
        return int((self.groups[:, 3].astype(np.int64) - self.groups[:, 2] + 1).sum())

    @property
    def most_saved(self) -> NDArray[np.float64]:
        """Float64 [tokens], what each could save at most: how often it fits, weighted, times its bytes but one."""
        words = np.repeat(np.arange(len(self.counts), dtype=np.int32), np.diff(self.bounds))
        weights = self.counts.counts.astype(np.float64)[words[self.starts]]
        fits = np.bincount(self.tokens, weights, len(self.places))
        return fits * (self.places[:, 1] - self.places[:, 0] - 1)

    def spelt(self, chosen: NDArray[np.int64]) -> tuple[bytes, ...]:
        """The bytes of tokens."""
        text = self.counts.data.tobytes()
        return tuple(text[start:end] for start, end in self.places[chosen].tolist())


def graph_of(counts: PretokenCounts, size: int, longest: int | None = None, threads: int = 1) -> SubstringGraph:
    """The graph of a text.

    Args:
        counts: the pre-tokens.
        size: tokens of the vocabulary, the 256 bytes included.
        longest: longest token, in bytes; no limit when None.
        threads: threads to use; they do not show.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
        TooManyPlacesError: they are too long.
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
            f"the substrings of the pre-tokens stand in {places:,} places, and {MOST_PLACES:,} can be looked at; limit "
            "their length (max_token_bytes, --max-token-bytes)"
        )
    edges = token_edges(nodes, before, suffixes, groups, len(counts), least, threads)
    bounds = counts.offsets + np.arange(len(counts.offsets))
    return SubstringGraph(counts, limit, suffixes, groups, bounds, *edges)


def _places(groups: NDArray[np.int32]) -> int:
    """Places of the substrings of some groups."""
    return int((groups[:, 1] - groups[:, 0]).astype(np.int64) @ (groups[:, 3] - groups[:, 2] + 1).astype(np.int64))


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


def proven(graph: SubstringGraph, potentials: NDArray[np.float64], threads: int = 1) -> Proven:
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


def plain(graph: SubstringGraph, scale: int) -> NDArray[np.int64]:
    """Prices that prove that each pre-token takes a token: its first byte costs one, the others nothing."""
    prices = np.zeros(len(graph.counts.data), np.int64)
    starts = graph.counts.offsets[:-1]
    prices[starts] = graph.counts.counts * scale
    return prices


def finest(graph: SubstringGraph) -> int:
    """The greatest scale, a power of two, at which no sum that the kernel makes leaves 63 bits."""
    lengths = np.diff(graph.counts.offsets).astype(np.float64)
    greatest = float((graph.counts.counts * lengths) @ lengths)
    if greatest >= 2.0**61:
        raise TokbenchError(f"the counts are too great to price bytes in 63 bits; {TOO_MUCH}")
    return min(FINEST, 1 << max(0, int(np.log2(2.0**61 / max(greatest, 1.0)))))


def _of(graph: SubstringGraph, prices: NDArray[np.int64], scale: int, threads: int) -> Proven:
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
