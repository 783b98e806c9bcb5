# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Token count of a text for a vocabulary, and the change in the count for each token added or removed.

Threads share the words. They add integers, so the sums do not depend on their order.

Reference: ``ascend`` in :mod:`tokbench.reference.bounds`.
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

    struct Gain { int32_t token, fewer; };

    /* By token, then by decreasing gain. A comparison that std::sort gets from Cython would have the type of a function,
       which libc++ does not call. */
    static inline bool operator<(const Gain& one, const Gain& other) {
        return one.token == other.token ? one.fewer > other.fewer : one.token < other.token;
    }
    """
    cppclass Gain:
        int32_t token
        int32_t fewer
    void add_to(int64_t* sum, int64_t more) noexcept nogil

cdef enum:
    PARTS = 64      # maximum number of parts of the words


cdef struct Graph:
    const int64_t* first
    const int32_t* starts
    const int32_t* tokens
    const uint8_t* chosen
    int32_t* before     # for the nodes of the current word: fewest tokens from its start
    int32_t* after      # fewest tokens to its end
    int64_t* last       # edge by which a node is reached; -1 for a byte


cdef int32_t fewest(Graph* graph, int64_t begin, int64_t end, int32_t without) noexcept nogil:
    """Return the fewest tokens of a word, without one token."""
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
    """Add the savings of a word by each token that is not chosen, at its best place."""
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
    sort(gains.begin(), gains.end())
    for place in range(gains.size()):
        if place == 0 or gains[place].token != gains[place - 1].token:
            add_to(&worths[gains[place].token], gains[place].fewer * count)
    return 0


cdef int add_losses(
    Graph* graph, int64_t begin, int64_t end, int32_t length, int64_t count, vector[int32_t]& path, int64_t* worths
) except -1 nogil:
    """Add the loss of a word without each token of its path."""
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
    """Return the tokens of some words, and add the effects of single changes to ``worths``."""
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
    """Return the token count of the text by shortest paths, and the effect of each single change of the vocabulary.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        chosen: uint8 [tokens], 1 for tokens in the vocabulary.
        worth: Whether to compute the effects.
        threads: Number of threads (default: 1). The result does not depend on it.
        enough: Minimum number of edges of a part, at least 1 (default: 4096). The result does not depend on it.

    Returns:
        The token count, and int64 [tokens]: for tokens in the vocabulary the increase in the count without the token,
            for the others the decrease with it. A word counts the best single place of an added token.
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
