# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Distinct substrings of words, grouped by their occurrences: the nodes of the suffix tree, without hashing.

All substrings that end on the edge above a node have the same occurrences. So a group is a range of sorted suffixes and
a range of lengths. There are fewer than two groups per byte of text, for words of any length. A node ends where
neighbouring suffixes share fewer bytes than the pair before, as in Abouelhoda, Kurtz and Ohlebusch, "Replacing suffix
trees with enhanced suffix arrays" (2004).
"""

from itertools import pairwise

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from tokbench.kernels.suffix_order import order_suffixes
from tokbench.kernels.threads import parallel_map, parallel_for
from tokbench.kernels.flat_arrays import repeat_ranges


cdef enum:
    MOST_PARTS = 16


cdef struct Node:
    # An open inner node. Its suffixes end before ``high`` and share ``depth`` bytes.
    int32_t high
    int32_t depth


cdef struct Group:
    int32_t low
    int32_t high
    int32_t shortest
    int32_t longest


cdef inline int add(
    vector[Group]& groups, int32_t low, int32_t high, int32_t above, int32_t depth
) except -1 nogil:
    """Add the group of the edge from ``above`` to ``depth``, if there is one."""
    cdef Group group
    if depth >= 2 and depth > above:
        group.low, group.high, group.shortest, group.longest = low, high, max(2, above + 1), depth
        groups.push_back(group)
    return 0


cdef int walk(
    const int32_t* suffixes, const int32_t* shared, const int32_t* ends, int32_t first, int32_t last, int32_t after,
    int32_t longest, vector[Group]& groups,
) except -1 nogil:
    """Add all groups of some suffixes, in reverse. ``after``: bytes shared with the following suffix, at most 1.

    From right to left, a node is closed after everything to its right or inside it, which is reverse byte order.
    """
    cdef vector[Node] stack
    cdef Node node
    cdef int32_t low, before
    node.high, node.depth = last, 0
    stack.push_back(node)
    for low in range(last - 1, first - 1, -1):
        before = shared[low]
        add(groups, low, low + 1, max(before, after), min(longest, ends[suffixes[low]] - suffixes[low]))
        node.high = low + 1
        while stack.back().depth > before:
            node = stack.back()
            stack.pop_back()
            add(groups, low, node.high, max(before, stack.back().depth), node.depth)
        if stack.back().depth < before:
            node.depth = before
            stack.push_back(node)
        after = before
    return 0


def _walked(
    const int32_t[::1] suffixes, const int32_t[::1] shared, const int32_t[::1] ends, int32_t first, int32_t last,
    int64_t longest,
):
    """Return the groups of some suffixes, in order. They must not share two bytes with the adjacent suffixes."""
    cdef vector[Group] groups
    cdef int32_t[:, ::1] rows
    cdef int32_t after = shared[last] if last < shared.shape[0] else 0, limit = <int32_t>min(longest, 2**31 - 1)
    cdef size_t i
    with nogil:
        walk(&suffixes[0], &shared[0], &ends[0], first, last, after, limit, groups)
    table = np.empty((groups.size(), 4), np.int32)
    rows = table
    with nogil:
        for i in range(groups.size()):
            memcpy(&rows[groups.size() - 1 - i, 0], &groups[i], sizeof(Group))
    return table


def _edges(shared, parts):
    """Return ranges of the suffixes, split where no two bytes are shared."""
    edges, low = [0], 0
    for part in range(1, parts):
        low = max(len(shared) * part // parts, low + 1)
        while low < len(shared) and shared[low] > 1:
            ahead = shared[low : low + 4096] <= 1
            low += int(ahead.argmax()) if ahead.any() else len(ahead)
        if low < len(shared):
            edges.append(low)
    return list(pairwise([*edges, len(shared)]))


def _end_to_end(tables, threads):
    """Concatenate tables, and free each after it is copied."""
    if len(tables) == 1:
        return tables[0]
    rows = np.empty((sum(map(len, tables)), 4), np.int32)
    cuts = np.cumsum([0, *map(len, tables)]).tolist()

    def copy(part):
        rows[cuts[part] : cuts[part + 1]] = tables[part]
        tables[part] = None

    parallel_for(copy, range(len(tables)), threads)
    return rows


def distinct_substrings(
    const uint8_t[::1] data, const int64_t[::1] offsets, int64_t longest, int32_t threads=1, int64_t enough=1 << 19
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return every distinct substring of 2 to ``longest`` bytes within words.

    Args:
        data: uint8 [n], concatenated words; n is less than 2**31.
        offsets: int64 [words + 1], start of each word; the last entry is n.
        longest: Length of the longest substring in bytes.
        threads: Number of threads (default: 1). The result does not depend on it.
        enough: Minimum bytes of a part of the text, at least 1 (default: 2^19). The result does not depend on it.

    Returns:
        suffixes: int32 [n], positions of ``data``, sorted by up to ``longest`` bytes from there to the end of the word.
        groups: int32 [m, 4], rows (low, high, shortest, longest). The substrings of shortest to longest bytes that
            start at ``suffixes[low]`` occur exactly at ``suffixes[low:high]``. Rows are in byte order of their shortest
            substrings.

    Raises:
        ValueError: as :func:`tokbench.kernels.suffix_order.order_suffixes`.
    """
    suffixes, common = order_suffixes(data, offsets, longest, threads=threads, enough=enough)
    if len(suffixes) == 0:
        return suffixes, np.empty((0, 4), np.int32)
    ends = repeat_ranges(np.asarray(offsets)[1:].astype(np.int32), np.asarray(offsets), threads)
    edges = _edges(common, max(1, min(MOST_PARTS, data.shape[0] // enough)))
    tables = list(parallel_map(lambda edge: _walked(suffixes, common, ends, *edge, longest), edges, threads))
    return suffixes, _end_to_end(tables, threads)


cdef int32_t compare(
    const uint8_t[::1] data, int32_t start, int32_t end, const uint8_t[::1] tokens, int64_t first, int64_t last
) noexcept nogil:
    """Compare a suffix with a token: negative if it is less, 0 if it starts with the token, else positive."""
    cdef int64_t depth
    for depth in range(last - first):
        if start + depth >= end:
            return -1
        if data[start + depth] != tokens[first + depth]:
            return <int32_t>data[start + depth] - <int32_t>tokens[first + depth]
    return 0


def occurrences_of(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int32_t[::1] suffixes,
    const uint8_t[::1] tokens,
    const int64_t[::1] token_offsets,
) -> NDArray[np.int32]:
    """Find substrings among the sorted suffixes of :func:`distinct_substrings`, by binary search.

    Args:
        data: uint8 [n], as for :func:`distinct_substrings`.
        offsets: int64 [words + 1], likewise.
        suffixes: int32 [n], its result, with ``longest`` at least the length of the longest token.
        tokens: uint8 [bytes], concatenated substrings; fewer than 2**31 bytes in total.
        token_offsets: int64 [tokens + 1], start of each substring.

    Returns:
        int32 [tokens, 4], a group of one substring each (low, high, length, length); low equals high if it does not
            occur.
    """
    cdef Py_ssize_t size = suffixes.shape[0], wanted = token_offsets.shape[0] - 1, t
    cdef int32_t low, high, middle, side
    found = np.zeros((wanted, 4), np.int32)
    found[:, 2:] = np.diff(token_offsets)[:, None]
    if size == 0 or wanted == 0:
        return found
    cdef int32_t[:, ::1] groups = found
    cdef int32_t[::1] ends = np.repeat(np.asarray(offsets)[1:].astype(np.int32), np.diff(offsets))
    with nogil:
        for t in range(wanted):
            for side in range(2):       # first the first suffix that is not less, then the first that is greater
                low, high = 0, <int32_t>size
                while low < high:
                    middle = low + (high - low) // 2
                    if compare(
                        data, suffixes[middle], ends[suffixes[middle]], tokens, token_offsets[t], token_offsets[t + 1]
                    ) < side:
                        low = middle + 1
                    else:
                        high = middle
                groups[t, side] = low
    return found
