"""The words of a text as graphs: every substring that may become a token, and where it fits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.candidates.limits import MAX_BYTES, check_bytes
from tokbench.errors import TokbenchError
from tokbench.kernels.edges import laid_out, savings, token_edges
from tokbench.kernels.substrings import distinct_substrings
from tokbench.parallel import over_ranges
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES

LEAST_SHARE = 512
"""A substring takes part in the search if it could save more than this part of what the K-th best could."""
MOST_PLACES = 1 << 28
"""Places of substrings, each of which may become an edge of eight bytes: pre-tokens that are long have many."""


class TooManyPlacesError(TokbenchError):
    """Substrings stand in too many places."""


@dataclass(frozen=True, eq=False)
class Graph:
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


def graph_of(counts: PretokenCounts, size: int, longest: int | None = None, threads: int = 1) -> Graph:
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
    return Graph(counts, limit, suffixes, groups, bounds, *edges)


def _places(groups: NDArray[np.int32]) -> int:
    """Places of the substrings of some groups."""
    return int((groups[:, 1] - groups[:, 0]).astype(np.int64) @ (groups[:, 3] - groups[:, 2] + 1).astype(np.int64))
