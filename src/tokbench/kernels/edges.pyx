# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where tokens fit into words: the edges of the graphs in which a segmentation is a path.

A word of n bytes has n + 1 nodes; the edges of a node are those that end there. Words' nodes stand one after another,
so that the node before byte p of word w is p + w.
"""

from itertools import accumulate, pairwise

import numpy as np

from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.threads import parallel_map, over_ranges, parallel_for
from tokbench.kernels.flat_arrays import repeat_ranges

cdef enum:
    PARTS = 16          # of the suffixes
    CHUNKS = 64         # of the groups, of which parts are put together
    MOST_PARTS = 4      # of the groups: each has a number for every node


def laid_out(
    offsets: NDArray[np.int64], const int64_t[::1] counts, const int32_t[::1] suffixes, int32_t threads=1
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Where sorted suffixes of words stand among the nodes, and how often.

    Args:
        offsets: int64 [words + 1], where each word starts.
        counts: int64 [words], occurrences.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        threads: threads to use; they do not show.

    Returns:
        nodes: int32 [n], the node before the first byte of each suffix.
        before: int64 [n + 1], how often the suffixes before each occur, weighted.
    """
    size = len(suffixes)
    words = repeat_ranges(np.arange(len(counts), dtype=np.int32), offsets, threads)
    nodes, before = np.empty(size, np.int32), np.zeros(size + 1, np.int64)
    edges = list(pairwise(size * part // PARTS for part in range(PARTS + 1)))
    sums = list(parallel_map(lambda edge: _lay_out(counts, suffixes, words, nodes, before, *edge), edges, threads))
    sums = accumulate(sums, initial=0)
    parallel_for(lambda part: _raise(before, part[1], *part[0]), zip(edges, sums, strict=False), threads)
    return nodes, before


def _lay_out(
    const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[::1] words, int32_t[::1] nodes,
    int64_t[::1] before, int64_t first, int64_t last,
):
    """Lay out some suffixes, their occurrences from 0 on; returns the sum of these."""
    cdef int64_t i, sum = 0
    with nogil:
        for i in range(first, last):
            nodes[i] = suffixes[i] + words[suffixes[i]]
            sum += counts[words[suffixes[i]]]
            before[i + 1] = sum
    return sum


def _raise(int64_t[::1] before, int64_t sum, int64_t first, int64_t last):
    cdef int64_t i
    with nogil:
        for i in range(first, last):
            before[i + 1] += sum


def token_edges(
    const int32_t[::1] nodes,
    const int64_t[::1] before,
    const int32_t[::1] suffixes,
    const int32_t[:, ::1] groups,
    int64_t words,
    int64_t least,
    int32_t threads=1,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The substrings that could save enough, and where they fit.

    Args:
        nodes: int32 [n], from :func:`laid_out`.
        before: int64 [n + 1], from there.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from there.
        words: how many words there are.
        least: a substring is taken if its occurrences, weighted, times its bytes but one come to more.
        threads: threads to use, up to 4; they do not show.

    Returns:
        places: int32 [tokens, 2], first and last byte (exclusive) of one occurrence of each token.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], the node where each begins.
        tokens: int32 [edges], the token of each.

    Raises:
        ValueError: there are more of them than 32 bits address.
    """
    lows = np.empty(len(groups), np.int32)
    chunks = list(pairwise(len(groups) * chunk // CHUNKS for chunk in range(CHUNKS + 1)))
    sizes = list(parallel_map(lambda chunk: _sizes(before, groups, least, lows, *chunk), chunks, threads))
    kinds, edges = ([0, *accumulate(some)] for some in zip(*sizes))
    if max(kinds[CHUNKS], edges[CHUNKS]) > 2**31 - 1:
        raise ValueError(f"substrings with {edges[CHUNKS]} places, the limit is {2**31 - 1}")
    number = max(1, min(threads, MOST_PARTS))
    cuts = [*np.searchsorted(edges, [edges[CHUNKS] * part // number for part in range(number)]).tolist(), CHUNKS]
    parts = [
        (kinds[low], len(groups) * low // CHUNKS, len(groups) * high // CHUNKS) for low, high in pairwise(cuts) if low < high
    ]
    tally = np.zeros((len(parts), len(suffixes) + words), np.int32)
    parallel_for(lambda part: _count(nodes, groups, lows, tally[part], *parts[part][1:]), range(len(parts)), threads)
    first = np.empty(tally.shape[1] + 1, np.int64)
    _settle(tally, first)
    places = np.empty((kinds[CHUNKS], 2), np.int32)
    starts, tokens = np.empty(edges[CHUNKS], np.int32), np.empty(edges[CHUNKS], np.int32)

    def fill(part):
        _fill(nodes, suffixes, groups, lows, tally[part], *parts[part], places, starts, tokens)

    parallel_for(fill, range(len(parts)), threads)
    return places, first, starts, tokens


def _sizes(
    const int64_t[::1] before, const int32_t[:, ::1] groups, int64_t least, int32_t[::1] lows, int64_t first,
    int64_t last,
):
    """The shortest substring that is taken of each of some groups; how many all have, and in how many places."""
    cdef int64_t q, some, found = 0, edges = 0, total
    with nogil:
        for q in range(first, last):
            total = before[groups[q, 1]] - before[groups[q, 0]]
            some = max(<int64_t>groups[q, 2], least // total + 2)
            lows[q] = <int32_t>min(some, <int64_t>groups[q, 3] + 1)
            some = groups[q, 3] + 1 - lows[q]
            found += some
            edges += some * (groups[q, 1] - groups[q, 0])
    return found, edges


def _count(
    const int32_t[::1] nodes, const int32_t[:, ::1] groups, const int32_t[::1] lows, int32_t[::1] tally, int64_t first,
    int64_t last,
):
    """Count the edges of some groups at each node."""
    cdef int64_t q, i
    cdef int32_t length
    with nogil:
        for q in range(first, last):
            for i in range(groups[q, 0], groups[q, 1]):
                for length in range(lows[q], groups[q, 3] + 1):
                    tally[nodes[i] + length] += 1


def _settle(int32_t[:, ::1] tally, int64_t[::1] first):
    """Where the edges of each node begin, and those of each part among them, in the order of the parts."""
    cdef int64_t node, edges = 0
    cdef int32_t part, some
    with nogil:
        for node in range(tally.shape[1]):
            first[node] = edges
            for part in range(tally.shape[0]):
                some = tally[part, node]
                tally[part, node] = <int32_t>edges
                edges += some
        first[tally.shape[1]] = edges


def _fill(
    const int32_t[::1] nodes, const int32_t[::1] suffixes, const int32_t[:, ::1] groups, const int32_t[::1] lows,
    int32_t[::1] at, int64_t found, int64_t first, int64_t last, int32_t[:, ::1] places, int32_t[::1] starts,
    int32_t[::1] tokens,
):
    """Put down the tokens of some groups, of which the first is ``found``, and their edges."""
    cdef int64_t q, i
    cdef int32_t length, edge
    with nogil:
        for q in range(first, last):
            for length in range(lows[q], groups[q, 3] + 1):
                places[found, 0] = suffixes[groups[q, 0]]
                places[found, 1] = places[found, 0] + length
                for i in range(groups[q, 0], groups[q, 1]):
                    edge = at[nodes[i] + length]
                    at[nodes[i] + length] = edge + 1
                    starts[edge] = nodes[i]
                    tokens[edge] = <int32_t>found
                found += 1


def savings(const int64_t[::1] before, const int32_t[:, ::1] groups, int32_t threads=1) -> NDArray[np.int64]:
    """What the longest substring of every group saves at most: its weighted occurrences times its bytes but one.

    Args:
        before: int64 [n + 1], from :func:`laid_out`.
        groups: int32 [m, 4], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        threads: threads to use; they do not show.

    Returns:
        int64 [m].
    """
    found = np.empty(len(groups), np.int64)
    over_ranges(lambda first, last: _save(before, groups, found, first, last), len(groups), threads)
    return found


def _save(
    const int64_t[::1] before, const int32_t[:, ::1] groups, int64_t[::1] found, int64_t first, int64_t last
):
    cdef int64_t q
    with nogil:
        for q in range(first, last):
            found[q] = (before[groups[q, 1]] - before[groups[q, 0]]) * (groups[q, 3] - 1)


def relief(
    offsets: NDArray[np.int64],
    const int64_t[::1] counts,
    const int32_t[::1] suffixes,
    const int32_t[:, ::1] groups,
    const int64_t[::1] prices,
    int64_t scale,
    int32_t threads=1,
) -> NDArray[np.int64]:
    """What each substring would save of given prices of bytes, in integers: all substrings, none left out.

    Args:
        offsets: int64 [words + 1], where each word starts.
        counts: int64 [words], occurrences.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from there.
        prices: int64 [n + words], the price of the bytes before each node of its word.
        scale: units of price to a token.
        threads: threads to use; they do not show.

    Returns:
        int64 [k], of the substrings that save anything, in order of ``groups``. Of a substring the price of its bytes
        less one token is summed over its places, where that is positive.
    """
    words = repeat_ranges(np.arange(len(counts), dtype=np.int32), offsets, threads)
    edges = list(pairwise(len(groups) * chunk // CHUNKS for chunk in range(CHUNKS + 1)))
    widths = [0, *accumulate(parallel_map(lambda edge: _width(groups, *edge), edges, threads))]
    found = np.zeros(widths[CHUNKS], np.int64)

    def relieve(chunk):
        part = found[widths[chunk] : widths[chunk + 1]]
        return part[: _relieve(counts, suffixes, words, groups, prices, scale, part, *edges[chunk])]

    return np.concatenate(list(parallel_map(relieve, range(CHUNKS), threads)))


def _width(const int32_t[:, ::1] groups, int64_t first, int64_t last):
    """How many substrings some groups have."""
    cdef int64_t q, width = 0
    for q in range(first, last):
        width += groups[q, 3] - groups[q, 2] + 1
    return width


def _relieve(
    const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[::1] words, const int32_t[:, ::1] groups,
    const int64_t[::1] prices, int64_t scale, int64_t[::1] out, int64_t first, int64_t last,
):
    """Fill ``out``, all zeros, with what the substrings of some groups save; how many do."""
    cdef int64_t q, i, kept = 0, width, saved, cost
    cdef int32_t length, place, shortest
    with nogil:
        for q in range(first, last):
            shortest = groups[q, 2]
            for i in range(groups[q, 0], groups[q, 1]):
                place = suffixes[i] + words[suffixes[i]]
                cost = prices[place] + counts[words[suffixes[i]]] * scale
                for length in range(shortest, groups[q, 3] + 1):
                    saved = prices[place + length] - cost
                    if saved > 0:
                        out[kept + length - shortest] += saved
            width = kept
            for length in range(shortest, groups[q, 3] + 1):
                if out[kept + length - shortest] > 0:
                    out[width] = out[kept + length - shortest]
                    width += 1
            kept = width
            for length in range(shortest, groups[q, 3] + 1):
                if kept + length - shortest < out.shape[0]:
                    out[kept + length - shortest] = 0
    return kept
