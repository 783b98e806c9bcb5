# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where tokens fit into words: the edges of the graphs in which a segmentation is a path.

A word of n bytes has n + 1 nodes; the edges of a node are those that end there. Words' nodes stand one after another,
so that the node before byte p of word w is p + w.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef inline int64_t weight_of(
    const int64_t[::1] counts, const int32_t[::1] word, const int32_t[::1] suffixes, int32_t low, int32_t high
) noexcept nogil:
    """How often the substrings of a group occur, weighted: once for each of its places."""
    cdef int64_t total = 0
    cdef int32_t i
    for i in range(low, high):
        total += counts[word[suffixes[i]]]
    return total


def token_edges(
    const int64_t[::1] offsets, const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[:, ::1] groups,
    int64_t least,
):
    """The substrings that could save enough, and where they fit.

    Args:
        offsets: int64 [words + 1], where each word starts.
        counts: int64 [words], occurrences.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from there.
        least: a substring is taken if its occurrences, weighted, times its bytes but one come to more.

    Returns:
        places: int32 [tokens, 2], first and last byte (exclusive) of one occurrence of each token.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], the node where each begins.
        tokens: int32 [edges], the token of each.
    """
    cdef Py_ssize_t words = counts.shape[0], rows = groups.shape[0], q, i, w, p
    cdef int64_t size = suffixes.shape[0], total, edges = 0, found = 0, shortest
    cdef int32_t length, place
    word_of = np.repeat(np.arange(words, dtype=np.int32), np.diff(offsets))
    cdef const int32_t[::1] word = word_of
    lows = np.empty(rows, np.int32)
    cdef int32_t[::1] low = lows
    first_ = np.zeros(size + words + 1, np.int64)
    cdef int64_t[::1] first = first_
    with nogil:
        for q in range(rows):
            total = weight_of(counts, word, suffixes, groups[q, 0], groups[q, 1])
            shortest = max(<int64_t>groups[q, 2], least // total + 2)
            low[q] = <int32_t>min(shortest, <int64_t>groups[q, 3] + 1)
            found += groups[q, 3] + 1 - low[q]
            for i in range(groups[q, 0], groups[q, 1]):
                place = suffixes[i] + word[suffixes[i]]
                for length in range(low[q], groups[q, 3] + 1):
                    first[place + length] += 1
        for p in range(size + words):
            total = first[p]
            first[p] = edges
            edges += total
        first[size + words] = edges
    if found > 2**31 - 1:
        raise ValueError("more than 2147483647 substrings")
    at_ = first_.copy()
    places_, starts_, tokens_ = np.empty((found, 2), np.int32), np.empty(edges, np.int32), np.empty(edges, np.int32)
    cdef int64_t[::1] at = at_
    cdef int32_t[:, ::1] places = places_
    cdef int32_t[::1] starts = starts_, tokens = tokens_
    cdef int64_t edge
    found = 0
    with nogil:
        for q in range(rows):
            for length in range(low[q], groups[q, 3] + 1):
                places[found, 0] = suffixes[groups[q, 0]]
                places[found, 1] = places[found, 0] + length
                for i in range(groups[q, 0], groups[q, 1]):
                    place = suffixes[i] + word[suffixes[i]]
                    edge = at[place + length]
                    at[place + length] = edge + 1
                    starts[edge] = place
                    tokens[edge] = <int32_t>found
                found += 1
    return places_, first_, starts_, tokens_


def savings(
    const int64_t[::1] offsets, const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[:, ::1] groups,
):
    """What the longest substring of every group saves at most: its weighted occurrences times its bytes but one.

    Returns:
        int64 [m].
    """
    cdef Py_ssize_t rows = groups.shape[0], q
    cdef int64_t total
    word_of = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(offsets))
    cdef const int32_t[::1] word = word_of
    found = np.empty(rows, np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for q in range(rows):
            total = weight_of(counts, word, suffixes, groups[q, 0], groups[q, 1])
            out[q] = total * (groups[q, 3] - 1)
    return found


def relief(
    const int64_t[::1] offsets, const int64_t[::1] counts, const int32_t[::1] suffixes, const int32_t[:, ::1] groups,
    const int64_t[::1] nodes, int64_t scale,
):
    """What each substring would save of given prices of bytes, in integers: all substrings, none left out.

    Args:
        offsets: int64 [words + 1], where each word starts.
        counts: int64 [words], occurrences.
        suffixes: int32 [n], from :func:`tokbench.kernels.substrings.distinct_substrings`.
        groups: int32 [m, 4], from there.
        nodes: int64 [n + words], the price of the bytes before each node of its word.
        scale: units of price to a token.

    Returns:
        int64 [k], of the substrings that save anything, in order of ``groups``. Of a substring the price of its bytes
        less one token is summed over its places, where that is positive.
    """
    cdef Py_ssize_t rows = groups.shape[0], q, i, kept = 0
    cdef int64_t width = 0, saved, cost
    cdef int32_t length, place, shortest
    word_of = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(offsets))
    cdef const int32_t[::1] word = word_of
    if rows:
        width = int((np.asarray(groups)[:, 3].astype(np.int64) - np.asarray(groups)[:, 2] + 1).sum())
    found = np.zeros(width, np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for q in range(rows):
            shortest = groups[q, 2]
            for i in range(groups[q, 0], groups[q, 1]):
                place = suffixes[i] + word[suffixes[i]]
                cost = nodes[place] + counts[word[suffixes[i]]] * scale
                for length in range(shortest, groups[q, 3] + 1):
                    saved = nodes[place + length] - cost
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
    return found[:kept].copy()
