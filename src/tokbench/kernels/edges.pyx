# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Matches of tokens in words: edges of the graphs in which a segmentation is a path.

A word of n bytes has n + 1 nodes. The edges of a node are those that end there. Nodes of all words are numbered
consecutively, so the node before byte p (counted over all words) of word w is p + w.
"""

from itertools import accumulate, pairwise

import numpy as np

from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.threads import parallel_map, over_ranges, parallel_for
from tokbench.kernels.flat_arrays import repeat_ranges

cdef enum:
    PARTS = 16          # of the suffixes
    CHUNKS = 64         # of the groups; parts are made of chunks
    MOST_PARTS = 4      # of the groups: each needs one number per node


def laid_out(
    offsets: NDArray[np.int64], const int64_t[::1] counts, const int32_t[::1] suffixes, int32_t threads=1
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Compute the nodes and weighted counts of sorted suffixes of words.

    Args:
        offsets: int64 [words + 1], start of each word.
        counts: int64 [words], count of each word.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        threads: Number of threads (default: 1). The result does not depend on it.

    Returns:
        nodes: int32 [n], node before the first byte of each suffix.
        before: int64 [n + 1], sum of the counts of the suffixes before each.
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
    """Write the nodes of some suffixes and the running sum of their counts; return the sum."""
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
    """Return the substrings that could save enough, and their matches.

    Args:
        nodes: int32 [n], from :func:`laid_out`.
        before: int64 [n + 1], from :func:`laid_out`.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from the same function.
        words: Number of words.
        least: A substring is used if its weighted count times its length minus one is greater than this.
        threads: Number of threads, up to 4 (default: 1). The result does not depend on it.

    Returns:
        places: int32 [tokens, 2], start and end (exclusive) of one occurrence of each token.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.

    Raises:
        ValueError: there are more edges or tokens than 32 bits can index.
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
    """Compute the shortest used substring of some groups; return the number of their substrings and of their edges."""
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
    """Compute the index of each node's first edge, and of each part's edges within it, in the order of the parts."""
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
    """Write the tokens of some groups, the first of which is ``found``, and their edges."""
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
    """Return an upper bound on the savings of each group: the weighted count times the length of its longest substring
    minus one.

    Args:
        before: int64 [n + 1], from :func:`laid_out`.
        groups: int32 [m, 4], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        threads: Number of threads (default: 1). The result does not depend on it.

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
    """Return the exact savings of substrings at given prices of bytes, in integers, over all substrings.

    Args:
        offsets: int64 [words + 1], start of each word.
        counts: int64 [words], count of each word.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from the same function.
        prices: int64 [n + words], price of the bytes before each node of its word.
        scale: Units of price per token.
        threads: Number of threads (default: 1). The result does not depend on it.

    Returns:
        int64 [k], for the substrings with positive savings, in order of ``groups``. The savings of a substring are
            summed over the matches at which the price of its bytes exceeds one token.
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
    """Return the number of substrings of some groups."""
    cdef int64_t q, width = 0
    for q in range(first, last):
        width += groups[q, 3] - groups[q, 2] + 1
    return width


def _relieve(
    const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[::1] words, const int32_t[:, ::1] groups,
    const int64_t[::1] prices, int64_t scale, int64_t[::1] out, int64_t first, int64_t last,
):
    """Write the positive savings of the substrings of some groups to ``out``, initially zeros; return their number."""
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
