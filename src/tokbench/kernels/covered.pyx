# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Adjacent byte pairs covered by tokens: pairs inside any occurrence of any token.

Reference: ``covered_pairs`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from tokbench.kernels.matches cimport LONG, SuffixLinks, follow
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


def covered_pairs(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
) -> int:
    """Count the adjacent byte pairs covered by tokens, weighted by the pre-tokens' counts.

    Among tokens that begin at the same place, the longest covers every pair that the others cover.

    Args:
        trie: Trie of the tokens.
        data: uint8 [bytes], concatenated pre-tokens.
        offsets: int64 [n + 1], start of each pre-token.
        counts: int64 [n], count of each pre-token.

    Returns:
        The sum, which fits into 64 bits.
    """
    cdef const TrieView* view = &trie.view
    cdef int64_t item, start, place, end, reach, found, total = 0
    cdef int32_t node
    if view.max_length > LONG:
        return _covered_by_links(trie, data, offsets, counts)
    with nogil:
        for item in range(counts.shape[0]):
            found = 0
            reach = offsets[item]  # last byte of the farthest occurrence so far
            for start in range(offsets[item], offsets[item + 1]):
                node = 0
                end = start
                for place in range(start, offsets[item + 1]):
                    node = step(view, node, data[place])
                    if node < 0:
                        break
                    if token_at(view, node) >= 0:
                        end = place
                if end > reach:
                    found += end - max(reach, start)
                    reach = end
            total += found * counts[item]
    return total


cdef int64_t _covered_by_links(
    Trie trie, const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] counts
) except -1:
    """Do the same from the end: among tokens that end at the same place, the longest covers the others."""
    cdef SuffixLinks links = SuffixLinks(trie)
    cdef const TrieView* view = &trie.view
    cdef int64_t item, start, end, reach, found, longest = 1, total = 0
    cdef int32_t node
    for item in range(counts.shape[0]):
        longest = max(longest, offsets[item + 1] - offsets[item])
    cdef int32_t[::1] widths = np.zeros(longest, np.int32)      # length of the longest token that ends at each place
    with nogil:
        for item in range(counts.shape[0]):
            node = 0
            for end in range(offsets[item], offsets[item + 1]):
                node = follow(view, &links.suffix[0], node, data[end])
                widths[end - offsets[item]] = links.depth[links.last[node]]
            found = 0
            reach = offsets[item + 1] - 1       # first byte of the farthest occurrence so far
            for end in range(offsets[item + 1] - 1, offsets[item] - 1, -1):
                start = end + 1 - max(widths[end - offsets[item]], 1)
                if start < reach:
                    found += min(reach, end) - start
                    reach = start
            total += found * counts[item]
    return total
