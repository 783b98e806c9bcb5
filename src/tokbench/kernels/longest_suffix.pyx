# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by the longest match from the right: ``greedy``, mirrored.

Reference: ``longest_suffix`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef class LongestSuffixSegmenter(PretokenSegmenter):
    """Segmenter that matches the longest token at the end of the text, then repeats before it.

    Args:
        suffixes: Trie of the reversed tokens (``Trie(..., backwards=True)``), including the 256 bytes.

    Raises:
        ValueError: the trie lacks a byte.
    """

    def __init__(self, Trie suffixes not None):
        if any(suffixes.find(bytes([value])) < 0 for value in range(256)):
            raise ValueError("the trie lacks one of the 256 bytes")
        self.suffixes = suffixes

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const TrieView* trie = &self.suffixes.view
        cdef int64_t start, end = size, i, written = 0
        cdef int32_t node, token, longest
        while end > 0:
            node = 0
            longest = -1
            start = end - 1
            for i in range(end - 1, -1, -1):
                node = step(trie, node, text[i])
                if node < 0:
                    break
                token = token_at(trie, node)
                if token >= 0:
                    longest = token
                    start = i
            ids[written] = longest
            written += 1
            end = start
        for i in range(written // 2):
            token = ids[i]
            ids[i] = ids[written - 1 - i]
            ids[written - 1 - i] = token
        return written
