# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by the longest match from the left.

Vocabularies with continuation forms (WordPiece, ByteSpan) have one trie for the start of a pre-token and one for the
rest; otherwise both are the same trie.

Reference: ``greedy`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef class GreedySegmenter(PretokenSegmenter):
    """Segmenter that matches the longest token at the start of the text, then repeats after it.

    Args:
        first: Trie of the tokens that may start a pre-token.
        rest: Trie of the tokens that may follow. Both tries must contain the 256 bytes.

    Raises:
        ValueError: a trie lacks a byte.
    """

    def __init__(self, Trie first not None, Trie rest not None):
        for trie in (first, rest):
            if any(trie.find(bytes([value])) < 0 for value in range(256)):
                raise ValueError("a trie lacks one of the 256 bytes")
        self.first = first
        self.rest = rest

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const TrieView* trie = &self.first.view
        cdef int64_t start = 0, end, i, written = 0
        cdef int32_t node, token, longest
        while start < size:
            node = 0
            longest = -1
            end = start + 1
            for i in range(start, size):
                node = step(trie, node, text[i])
                if node < 0:
                    break
                token = token_at(trie, node)
                if token >= 0:
                    longest = token
                    end = i + 1
            ids[written] = longest
            written += 1
            start = end
            trie = &self.rest.view
        return written
