"""ToaST: the nodes of split trees that give the fewest tokens (Schmidt and others 2026).

"Tokenization with Split Trees" splits each pre-token into a binary tree, by the counts of its substrings only. A
vocabulary splits a pre-token into the topmost nodes that are tokens. The best vocabulary is an integer program. Its
relaxation is solved by prices (see :mod:`tokbench.optimum`), on graphs whose edges are the nodes of the trees: a cut of
a tree is a path. So the distance from the best vocabulary of this kind is bounded, in integers.

The paper was withdrawn, because its baselines were trained with 32-bit counts of pairs. The method is not affected.

Reference: :mod:`tokbench.reference.toast`.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_bytes, check_size
from tokbench.construction import construction
from tokbench.construction.unigram import PARTS, runs
from tokbench.kernels.edges import laid_out
from tokbench.kernels.flat_arrays import argsort_bytes, gather
from tokbench.kernels.split_tree import SplitTreeSegmenter, number_strings, tree_nodes
from tokbench.kernels.substrings import distinct_substrings
from tokbench.kernels.threads import parallel_for_with, parallel_map
from tokbench.kernels.trie import Trie
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.graph import SubstringGraph
from tokbench.optimum.search import BoundResult, search
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, SubstringCounts, Vocabulary


class ToastOptions(Options):
    min_count: int = Field(10, ge=1)
    """Smallest count of a substring that may be a part of a split. Single bytes always may."""

    gap: float = Field(0.001, ge=0)
    """The search ends when the text is longer than the bound by at most this share."""

    steps: int = Field(1000, ge=1)
    """Largest number of search steps."""

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token whose substrings are counted and tokens chosen from, in bytes. Memory and time grow with the
    square of the longest."""


@construction("toast", options=ToastOptions, segmentation="split_tree", cites=("schmidt2026",))
def build(counts: PretokenCounts, size: int, options: ToastOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Choose the nodes of split trees that give nearly the fewest tokens.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if the trees have fewer nodes.
        options: known substrings, and precision of the search.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The 256 bytes, then the tokens by descending price, with ``substring_counts``.

    Raises:
        TokbenchError: ``size`` is below 256, the unique pre-tokens have 2 GiB or more, or the counts exceed 63 bits.
    """
    check_size(size)
    pretokens, _ = counts.split_by_length(options.max_pretoken_bytes)
    substrings = known_substrings(pretokens, options.min_count, threads)
    graph = tree_graph(pretokens, substrings, size, threads)
    return Vocabulary(BYTES + graph.spell(best_nodes(graph, options, threads).vocabulary), substring_counts=substrings)


def best_nodes(graph: SubstringGraph, options: ToastOptions, threads: int = 1) -> BoundResult:
    """Return the best vocabulary found, and the bound on the tokens of all vocabularies of nodes."""
    return search(graph, gap=options.gap, steps=options.steps, threads=threads)


def known_substrings(counts: PretokenCounts, min_count: int, threads: int = 1) -> SubstringCounts:
    """Return the bytes, then the substrings of at least ``min_count`` occurrences in byte order.

    Occurrences may overlap. Substrings do not cross the boundaries of pre-tokens.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more.
    """
    check_bytes(counts, "toast")
    lengths = np.diff(counts.offsets)
    of_bytes = np.zeros(len(BYTES), np.int64)
    np.add.at(of_bytes, counts.data, np.repeat(counts.counts, lengths))
    suffixes, groups = distinct_substrings(counts.data, counts.offsets, int(lengths.max(initial=2)), threads)
    _, before = laid_out(counts.offsets, counts.counts, suffixes, threads)
    times = before[groups[:, 1]] - before[groups[:, 0]]
    groups, times = groups[times >= min_count].astype(np.int64), times[times >= min_count]
    low, _, shortest, longest = groups.T
    number = longest - shortest + 1
    places = np.concatenate([np.zeros(1, np.int64), number.cumsum()])
    sizes = np.arange(places[-1]) - np.repeat(places[:-1] - shortest, number)
    starts = np.repeat(suffixes[low].astype(np.int64), number)
    data, offsets = gather(counts.data, starts, sizes, threads)
    order = argsort_bytes(data, offsets, threads)
    data, offsets = gather(counts.data, starts[order], sizes[order], threads)
    return SubstringCounts(
        np.concatenate([np.arange(len(BYTES), dtype=np.uint8), data]),
        np.concatenate([np.arange(len(BYTES)), offsets + len(BYTES)]),
        np.concatenate([of_bytes, np.repeat(times, number)[order]]),
    )


def tree_graph(counts: PretokenCounts, substrings: SubstringCounts, size: int, threads: int = 1) -> SubstringGraph:
    """Return the split trees of pre-tokens as graphs: an edge is a node of two bytes or more.

    Args:
        counts: pre-tokens.
        substrings: known substrings with their counts.
        size: tokens of the vocabulary, including the 256 bytes.
        threads: number of threads (default: 1). The result does not depend on it.
    """
    starts, ends = _nodes(counts, substrings, threads)
    data, offsets = gather(counts.data, starts.astype(np.int64), (ends - starts).astype(np.int64), threads)
    tokens = number_strings(data, offsets, argsort_bytes(data, offsets, threads))
    words = (np.searchsorted(counts.offsets, starts, side="right") - 1).astype(np.int32)
    by_token = np.argsort(tokens, kind="stable")
    number = int(tokens.max(initial=-1)) + 1
    lows = np.searchsorted(tokens[by_token], np.arange(number + 1)).astype(np.int32)
    occurrences = by_token[lows[:-1]]
    lengths = (ends - starts)[occurrences]
    groups = np.column_stack([lows[:-1], lows[1:], lengths, lengths]).astype(np.int32)
    by_end = np.lexsort((tokens, ends + words))
    nodes = int(counts.offsets[-1]) + len(counts)
    first = np.searchsorted((ends + words)[by_end], np.arange(nodes + 1)).astype(np.int64)
    return SubstringGraph(
        counts,
        size - len(BYTES),
        np.ascontiguousarray(starts[by_token]),
        groups,
        counts.offsets + np.arange(len(counts.offsets)),
        np.column_stack([starts[occurrences], ends[occurrences]]).astype(np.int32),
        first,
        np.ascontiguousarray((starts + words)[by_end]),
        np.ascontiguousarray(tokens[by_end]),
    )


def _nodes(counts: PretokenCounts, known: SubstringCounts, threads: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return start and end of the nodes of all trees."""
    share = parallel_for_with(threads)
    alphabet = Vocabulary(BYTES).flat()
    segmenter = SplitTreeSegmenter(
        Trie(*alphabet),
        Trie(known.data, known.offsets, share=share),
        Trie(known.data, known.offsets, backwards=True, share=share),
        known.counts,
    )

    def part(edge: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return tree_nodes(segmenter, counts.data, counts.offsets, *edge)

    parts = list(parallel_map(part, runs(counts.offsets, PARTS), threads))
    starts, ends = zip(*parts, strict=True)
    return np.concatenate(starts), np.concatenate(ends)
