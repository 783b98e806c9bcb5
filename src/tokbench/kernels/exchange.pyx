# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a vocabulary costs, what each of its tokens saves, and what each other token would save.

Reference: :mod:`tokbench.reference.relaxation`.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Graph:
    const int64_t* first
    const int32_t* starts
    const int32_t* tokens
    const uint8_t* chosen
    int32_t* before     # of the nodes of the present word: fewest tokens from its first one
    int32_t* after      # fewest tokens to its last
    int64_t* last       # the edge by which a node is reached, or -1 for a byte


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


def exchanges(
    const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first, const int32_t[::1] starts,
    const int32_t[::1] tokens, const uint8_t[::1] chosen, bint worth,
):
    """Tokens of the text by shortest paths, and what single changes of the vocabulary would do to them.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        chosen: uint8 [tokens], whether each is in the vocabulary.
        worth: whether to tell the changes, too.

    Returns:
        The number of tokens; int64 [tokens], of those in the vocabulary by how much it grows without each, of the
        others by how much it shrinks with each, a word counting the best place.
    """
    cdef Py_ssize_t words = counts.shape[0], w
    cdef int64_t total = 0, begin, end, node, i, step, used
    cdef int32_t fewer, length, token, kept = 0
    cdef Graph graph
    cdef int64_t nodes = np.diff(bounds).max(initial=1)     # of the longest word
    before_, after_, last_ = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.int64)
    value, touched_, gain_ = np.zeros(len(chosen), np.int64), np.full(len(chosen), -1), np.zeros(len(chosen), np.int32)
    path_ = np.zeros(nodes, np.int32)
    cdef int32_t[::1] before = before_, after = after_, gain = gain_, path = path_
    cdef int64_t[::1] last = last_, worths = value, touched = touched_
    if words == 0 or starts.shape[0] == 0:
        return int((np.diff(bounds) - 1) @ np.asarray(counts)), value
    graph.first, graph.starts, graph.tokens, graph.chosen = &first[0], &starts[0], &tokens[0], &chosen[0]
    graph.before, graph.after, graph.last = &before[0], &after[0], &last[0]
    with nogil:
        for w in range(words):
            begin, end = bounds[w], bounds[w + 1] - 1
            length = fewest(&graph, begin, end, -1)
            total += length * counts[w]
            if not worth:
                continue
            count_backwards(&graph, begin, end)
            used = 0
            node = end
            while node > begin:
                i = last[node - begin]
                if i < 0:
                    node -= 1
                else:
                    node = starts[i]
                    token = tokens[i]
                    if touched[token] != w:
                        touched[token] = w
                        path[used] = token
                        used += 1
            for i in range(first[begin], first[end + 1]):
                token = tokens[i]
                if not chosen[token]:
                    if touched[token] != w:
                        touched[token], gain[token] = w, 0
            for node in range(begin + 1, end + 1):
                for i in range(first[node], first[node + 1]):
                    token = tokens[i]
                    if not chosen[token]:
                        fewer = length - (before[starts[i] - begin] + 1 + after[node - begin])
                        if fewer > gain[token]:
                            worths[token] += (fewer - gain[token]) * counts[w]
                            gain[token] = fewer
            for step in range(used):
                worths[path[step]] += (fewest(&graph, begin, end, path[step]) - length) * counts[w]
    return total, value
