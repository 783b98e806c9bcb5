# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Pairs of adjacent bytes that lie inside an occurrence of a token, any occurrence of any token.

Reference: ``covered`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


def covered_pairs(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
) -> int:
    """How many pairs of adjacent bytes the tokens cover, weighted by the pre-tokens' counts.

    Of the tokens that begin at one place the longest covers all that the others do.

    Args:
        trie: the tokens.
        data: uint8 [bytes], the pre-tokens laid end to end.
        offsets: int64 [n + 1], where each pre-token starts.
        counts: int64 [n], occurrences of each pre-token.

    Returns:
        The sum, an int of 64 bits.
    """
    cdef const TrieView* view = &trie.view
    cdef int64_t item, start, place, end, reach, found, total = 0
    cdef int32_t node
    with nogil:
        for item in range(counts.shape[0]):
            found = 0
            reach = offsets[item]  # Where the last byte of the farthest occurrence so far stands.
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
