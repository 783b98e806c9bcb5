# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""What a vocabulary costs, what each of its tokens saves, and what each other token would save.

Threads share the words; what they add to a token's worth are integers, in whatever order.

Reference: ``relaxation`` in :mod:`tokbench.reference.bounds`.
"""

from itertools import pairwise

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from tokbench.kernels.threads import parallel_map

cdef extern from *:
    """
    static inline void add_to(int64_t* sum, int64_t more) { __atomic_fetch_add(sum, more, __ATOMIC_RELAXED); }
    """
    void add_to(int64_t* sum, int64_t more) noexcept nogil

cdef enum:
    PARTS = 64      # of the words, at most


cdef struct Graph:
    const int64_t* first
    const int32_t* starts
    const int32_t* tokens
    const uint8_t* chosen
    int32_t* before     # of the nodes of the present word: fewest tokens from its first one
    int32_t* after      # fewest tokens to its last
    int64_t* last       # the edge by which a node is reached, or -1 for a byte


cdef struct Gain:
    int32_t token
    int32_t fewer


cdef bint precedes(const Gain& one, const Gain& other) noexcept nogil:
    """By token, the greatest first."""
    return one.fewer > other.fewer if one.token == other.token else one.token < other.token


cdef int32_t fewest(Graph* graph, int64_t begin, int64_t end, int32_t without) noexcept nogil:
    """Fewest tokens of a word, one token left out."""
    cdef int64_t node, i
    cdef int32_t least
    graph.before[0] = 0
    for node in range(1, end - begin + 1):
        least = graph.before[node - 1] + 1
        graph.last[node] = -1
        for i in range(graph.first[begin + node], graph.first[begin + node + 1]):
            if graph.chosen[graph.tokens[i]] and graph.tokens[i] != without:
                if graph.before[graph.starts[i] - begin] + 1 < least:
                    least, graph.last[node] = graph.before[graph.starts[i] - begin] + 1, i
        graph.before[node] = least
    return graph.before[end - begin]


cdef void count_backwards(Graph* graph, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t node, i, start
    for node in range(end - begin):
        graph.after[node] = 0x7FFFFFF
    graph.after[end - begin] = 0
    for node in range(end - begin, 0, -1):
        graph.after[node - 1] = min(graph.after[node - 1], graph.after[node] + 1)
        for i in range(graph.first[begin + node], graph.first[begin + node + 1]):
            if graph.chosen[graph.tokens[i]]:
                start = graph.starts[i] - begin
                graph.after[start] = min(graph.after[start], graph.after[node] + 1)


cdef int add_gains(
    Graph* graph, int64_t begin, int64_t end, int32_t length, int64_t count, vector[Gain]& gains, int64_t* worths
) except -1 nogil:
    """Add what a word would save by each token that is not chosen, at its best place."""
    cdef int64_t node, i
    cdef size_t place
    cdef Gain gain
    gains.clear()
    for node in range(begin + 1, end + 1):
        for i in range(graph.first[node], graph.first[node + 1]):
            if not graph.chosen[graph.tokens[i]]:
                gain.token = graph.tokens[i]
                gain.fewer = length - (graph.before[graph.starts[i] - begin] + 1 + graph.after[node - begin])
                if gain.fewer > 0:
                    gains.push_back(gain)
    sort(gains.begin(), gains.end(), precedes)
    for place in range(gains.size()):
        if place == 0 or gains[place].token != gains[place - 1].token:
            add_to(&worths[gains[place].token], gains[place].fewer * count)
    return 0


cdef int add_losses(
    Graph* graph, int64_t begin, int64_t end, int32_t length, int64_t count, vector[int32_t]& path, int64_t* worths
) except -1 nogil:
    """Add what a word would lose without each token of its path."""
    cdef int64_t node = end, i
    cdef size_t place
    path.clear()
    while node > begin:
        i = graph.last[node - begin]
        if i < 0:
            node -= 1
        else:
            node = graph.starts[i]
            path.push_back(graph.tokens[i])
    sort(path.begin(), path.end())
    for place in range(path.size()):
        if place == 0 or path[place] != path[place - 1]:
            add_to(&worths[path[place]], (fewest(graph, begin, end, path[place]) - length) * count)
    return 0


def _exchanges(
    const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first, const int32_t[::1] starts,
    const int32_t[::1] tokens, const uint8_t[::1] chosen, int64_t[::1] worths, bint worth, int64_t nodes,
    int64_t low, int64_t high,
):
    """Tokens of some words; what changes would do to them is added to ``worths``."""
    cdef int64_t total = 0, begin, end, w
    cdef int32_t length
    cdef Graph graph
    cdef vector[Gain] gains
    cdef vector[int32_t] path
    cdef int32_t[::1] before = np.zeros(nodes, np.int32), after = np.zeros(nodes, np.int32)
    cdef int64_t[::1] last = np.zeros(nodes, np.int64)
    graph.first, graph.starts, graph.tokens, graph.chosen = &first[0], &starts[0], &tokens[0], &chosen[0]
    graph.before, graph.after, graph.last = &before[0], &after[0], &last[0]
    with nogil:
        for w in range(low, high):
            begin, end = bounds[w], bounds[w + 1] - 1
            length = fewest(&graph, begin, end, -1)
            total += length * counts[w]
            if worth:
                count_backwards(&graph, begin, end)
                add_gains(&graph, begin, end, length, counts[w], gains, &worths[0])
                add_losses(&graph, begin, end, length, counts[w], path, &worths[0])
    return total


def exchanges(
    const int64_t[::1] bounds,
    const int64_t[::1] counts,
    const int64_t[::1] first,
    const int32_t[::1] starts,
    const int32_t[::1] tokens,
    const uint8_t[::1] chosen,
    bint worth,
    int32_t threads=1,
    int64_t enough=4096,
) -> tuple[int, NDArray[np.int64]]:
    """Tokens of the text by shortest paths, and what single changes of the vocabulary would do to them.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        chosen: uint8 [tokens], whether each is in the vocabulary.
        worth: whether to tell the changes, too.
        threads: threads to use.
        enough: edges that are a part of their own, at least 1; neither shows.

    Returns:
        The number of tokens; int64 [tokens], of those in the vocabulary by how much it grows without each, of the
        others by how much it shrinks with each, a word counting the best place.
    """
    value = np.zeros(len(chosen), np.int64)
    if len(counts) == 0 or len(starts) == 0:
        return int((np.diff(bounds) - 1) @ np.asarray(counts)), value
    nodes = np.diff(bounds).max()       # of the longest word
    parts = max(1, min(PARTS, len(starts) // enough)) if threads > 1 else 1
    shares = [len(starts) * part // parts for part in range(1, parts)]
    cuts = np.searchsorted(np.asarray(first)[np.asarray(bounds)], shares).tolist()

    def work(edge):
        return _exchanges(bounds, counts, first, starts, tokens, chosen, value, worth, nodes, *edge)

    return sum(parallel_map(work, list(pairwise([0, *cuts, len(counts)])), threads)), value
