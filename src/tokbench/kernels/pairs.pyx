# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Pairs of tokens whose concatenation is a token.

Reference: ``ranked`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.vector cimport vector

from tokbench.kernels.exceptions cimport ready_to_throw
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at

import numpy as np


def pairs_of(
    Trie tokens not None, Trie backwards not None, const uint8_t[::1] data, const int64_t[::1] offsets
) -> NDArray[np.int32]:
    """Return every pair of tokens whose concatenation is a token.

    Args:
        tokens: Trie of all tokens.
        backwards: Trie of the reversed tokens.
        data: uint8 [bytes], concatenated tokens, from which both tries were made.
        offsets: int64 [n + 1], start of each token.

    Returns:
        int32 [m, 3], (left id, right id, resulting id), by result and then by the length of the left token.

    Raises:
        ValueError: ``offsets`` is empty or does not ascend inside ``data``.
        MemoryError: there is not enough memory.
    """
    cdef int64_t n = offsets.shape[0] - 1, token, start, end, i, rows, before = 0
    cdef const TrieView* forward = &tokens.view
    cdef const TrieView* behind = &backwards.view
    cdef vector[int32_t] left, found
    cdef int32_t node, right
    cdef int32_t[:, ::1] view
    if n < 0:
        raise ValueError("offsets must have one entry more than there are tokens")
    for i in range(n + 1):
        if not before <= offsets[i] <= data.shape[0]:
            raise ValueError("offsets must ascend inside data")
        before = offsets[i]
    ready_to_throw()
    with nogil:
        for token in range(n):
            start, end = offsets[token], offsets[token + 1]
            left.clear()
            node = 0
            for i in range(start, end - 1):
                node = step(forward, node, data[i])
                if node < 0:
                    break
                left.push_back(token_at(forward, node))
            node = 0
            rows = found.size()
            for i in range(end - 1, start, -1):
                node = step(behind, node, data[i])
                if node < 0:
                    break
                right = token_at(behind, node)
                if right >= 0 and i - start <= <int64_t>left.size() and left[i - start - 1] >= 0:
                    found.push_back(left[i - start - 1])
                    found.push_back(right)
                    found.push_back(<int32_t>token)
            turn(found, rows)
    pairs = np.empty((<int64_t>found.size() // 3, 3), np.int32)
    view = pairs
    for i in range(<int64_t>found.size()):
        view[i // 3, i % 3] = found[i]
    return pairs


cdef inline void turn(vector[int32_t]& rows, int64_t first) noexcept nogil:
    """Reverse the rows from a given one on."""
    cdef int64_t low = first, high = <int64_t>rows.size() - 3, k
    cdef int32_t swap
    while low < high:
        for k in range(3):
            swap = rows[low + k]
            rows[low + k] = rows[high + k]
            rows[high + k] = swap
        low += 3
        high -= 3
