# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
# distutils: extra_compile_args = -O3
"""Distinct substrings of words, grouped by where they occur: the nodes of the suffix tree, without hashing.

A radix sort from the first byte on visits the nodes in byte order. The substrings that end on the edge above one node
occur at the same places, so that a group is a range of the sorted suffixes and a range of lengths; there are fewer
than two groups a byte of text, however long the words.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset
from libcpp.vector cimport vector

cdef enum:
    SMALL = 16      # ranges up to this many suffixes are sorted by insertion
    END = 0         # key of a suffix that is used up; that of byte b is b + 1


cdef struct Range:
    # The suffixes low to high share ``depth`` bytes; the node above them has ``above`` bytes.
    int32_t low
    int32_t high
    int32_t depth
    int32_t above


cdef struct Text:
    const uint8_t* data
    const int32_t* ends     # of the word of each byte


cdef inline int32_t key_of(const Text* text, int32_t start, int32_t depth) noexcept nogil:
    cdef int64_t at = <int64_t>start + depth
    return text.data[at] + 1 if at < text.ends[start] else END


cdef void sort(const Text* text, int32_t* suffixes, int32_t* spare, int32_t size, int32_t depth) noexcept nogil:
    """Order suffixes by the byte at ``depth``; stable."""
    cdef int32_t tally[258]
    cdef int32_t i, j, key, suffix
    if size <= SMALL:
        for i in range(1, size):
            suffix = suffixes[i]
            key = key_of(text, suffix, depth)
            j = i
            while j > 0 and key_of(text, suffixes[j - 1], depth) > key:
                suffixes[j] = suffixes[j - 1]
                j -= 1
            suffixes[j] = suffix
        return
    memset(tally, 0, sizeof(tally))
    for i in range(size):
        tally[key_of(text, suffixes[i], depth) + 1] += 1
    for key in range(257):
        tally[key + 1] += tally[key]
    for i in range(size):
        key = key_of(text, suffixes[i], depth)
        spare[tally[key]] = suffixes[i]
        tally[key] += 1
    for i in range(size):
        suffixes[i] = spare[i]


cdef inline int32_t shared_depth(const Text* text, const int32_t* suffixes, Range node, int32_t longest) noexcept nogil:
    """Bytes that all suffixes of a range share, up to ``longest``."""
    cdef int32_t i, key
    if node.high - node.low == 1:
        return min(longest, text.ends[suffixes[node.low]] - suffixes[node.low])
    while node.depth < longest:
        key = key_of(text, suffixes[node.low], node.depth)
        if key == END:
            return node.depth
        for i in range(node.low + 1, node.high):
            if key_of(text, suffixes[i], node.depth) != key:
                return node.depth
        node.depth += 1
    return node.depth


cdef void visit(
    const Text* text, int32_t* suffixes, int32_t* spare, int32_t longest, vector[Range]& stack, vector[int32_t]& groups
) noexcept nogil:
    """Take a node off the stack, list the group of the edge above it, and stack its children, the first on top."""
    cdef Range node = stack.back(), child
    cdef int32_t key, low, high
    stack.pop_back()
    node.depth = shared_depth(text, suffixes, node, longest)
    if node.depth >= 2 and node.depth > node.above:
        groups.push_back(node.low)
        groups.push_back(node.high)
        groups.push_back(max(2, node.above + 1))
        groups.push_back(node.depth)
    if node.high - node.low == 1 or node.depth >= longest:
        return
    sort(text, &suffixes[node.low], spare, node.high - node.low, node.depth)
    child.above = node.depth
    child.depth = node.depth + 1
    high = node.high
    while high > node.low:
        low = high - 1
        key = key_of(text, suffixes[low], node.depth)
        while low > node.low and key_of(text, suffixes[low - 1], node.depth) == key:
            low -= 1
        if key != END:
            child.low, child.high = low, high
            stack.push_back(child)
        high = low


def distinct_substrings(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t longest):
    """Every distinct substring of 2 to ``longest`` bytes within words.

    Args:
        data: uint8 [n], the words laid end to end; n is less than 2**31.
        offsets: int64 [words + 1], where each word starts; the last entry is n.
        longest: longest substring, in bytes.

    Returns:
        suffixes: int32 [n], the positions of ``data``, ordered by the first ``longest`` bytes from there to the end of
            the word.
        groups: int32 [m, 4]: of row (low, high, shortest, longest) the substrings of shortest to longest bytes that
            start at ``suffixes[low]`` occur at ``suffixes[low:high]`` and nowhere else. Rows are in byte order of
            their shortest substrings.
    """
    cdef int32_t size = <int32_t>data.shape[0], limit = <int32_t>min(longest, 2**31 - 1)
    cdef vector[Range] stack
    cdef vector[int32_t] groups
    cdef Range every
    cdef Text text
    suffixes = np.arange(size, dtype=np.int32)
    table = np.empty((0, 4), np.int32)
    if size == 0:
        return suffixes, table
    cdef int32_t[::1] order = suffixes
    cdef int32_t[::1] spare = np.empty(size, np.int32)
    cdef int32_t[::1] ends = np.repeat(np.asarray(offsets)[1:].astype(np.int32), np.diff(offsets))
    cdef int32_t[::1] flat
    cdef size_t i
    text.data, text.ends = &data[0], &ends[0]
    every.low, every.high, every.depth, every.above = 0, size, 0, 0
    with nogil:
        stack.push_back(every)
        while stack.size() > 0:
            visit(&text, &order[0], &spare[0], limit, stack, groups)
    if groups.size() > 0:
        table = np.empty((groups.size() // 4, 4), np.int32)
        flat = table.reshape(-1)
        for i in range(groups.size()):
            flat[i] = groups[i]
    return suffixes, table


def occurrences_of(
    const uint8_t[::1] data, const int64_t[::1] offsets, const int32_t[::1] suffixes,
    const uint8_t[::1] tokens, const int64_t[::1] token_offsets,
):
    """Where given substrings stand among the sorted suffixes of :func:`distinct_substrings`, by binary search.

    Args:
        data: uint8 [n], as there.
        offsets: int64 [words + 1], as there.
        suffixes: int32 [n], from there; its ``longest`` not below that of the tokens.
        tokens: uint8 [bytes], the substrings laid end to end.
        token_offsets: int64 [tokens + 1], where each starts.

    Returns:
        int32 [tokens, 4], a group of one substring each (low, high, bytes, bytes); low is high where there is none.
    """
    cdef Py_ssize_t size = suffixes.shape[0], wanted = token_offsets.shape[0] - 1, t
    cdef int32_t low, high, middle, side, depth, length, difference
    cdef Text text
    found = np.zeros((wanted, 4), np.int32)
    found[:, 2:] = np.diff(token_offsets)[:, None]
    if size == 0 or wanted == 0:
        return found
    cdef int32_t[:, ::1] groups = found
    cdef int32_t[::1] ends = np.repeat(np.asarray(offsets)[1:].astype(np.int32), np.diff(offsets))
    text.data, text.ends = &data[0], &ends[0]
    with nogil:
        for t in range(wanted):
            length = <int32_t>(token_offsets[t + 1] - token_offsets[t])
            for side in range(2):       # the first suffix that is not less, then the first that is greater
                low, high = 0, <int32_t>size
                while low < high:
                    middle = low + (high - low) // 2
                    difference = 0
                    for depth in range(length):
                        difference = (
                            key_of(&text, suffixes[middle], depth) - (tokens[token_offsets[t] + depth] + 1)
                        )
                        if difference != 0:
                            break
                    if difference < side:
                        low = middle + 1
                    else:
                        high = middle
                groups[t, side] = low
    return found
