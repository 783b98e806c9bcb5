# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Occurrences of given tokens at every place of a text, overlapping ones included.

Reference: ``matches`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


def count_matches(
    Trie trie not None,
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] counts,
    int64_t first,
    int64_t last,
    int64_t tokens,
) -> NDArray[np.int64]:
    """How often each token stands in the pre-tokens ``first`` to ``last``, at any place, weighted by their counts.

    Args:
        trie: the tokens.
        data: uint8 [bytes], the pre-tokens laid end to end.
        offsets: int64 [n + 1], where each pre-token starts.
        counts: int64 [n], occurrences of each pre-token.
        first, last: which pre-tokens, ``first <= i < last``.
        tokens: one more than the largest id in the trie.

    Returns:
        int64 [tokens].

    Raises:
        ValueError: there are no such pre-tokens, or the trie holds an id of ``tokens`` or more.
    """
    if not 0 <= first <= last <= counts.shape[0] < offsets.shape[0] or trie.tokens > tokens:
        raise ValueError(f"no pre-tokens {first}:{last} among {counts.shape[0]}, or not only ids below {tokens}")
    totals = np.zeros(tokens, np.int64)
    cdef int64_t[::1] total = totals
    cdef const TrieView* view = &trie.view
    cdef int64_t item, start, place
    cdef int32_t node
    with nogil:
        for item in range(first, last):
            for start in range(offsets[item], offsets[item + 1]):
                node = 0
                for place in range(start, offsets[item + 1]):
                    node = step(view, node, data[place])
                    if node < 0:
                        break
                    if token_at(view, node) >= 0:
                        total[token_at(view, node)] += counts[item]
    return totals
