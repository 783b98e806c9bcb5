# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by merging, except that a pre-token that is a token is not split.

Reference: ``ranked`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.derivations cimport cut_derived
from tokbench.kernels.merge cimport MergeSegmenter
from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, TrieView, step, token_at


cdef class WholeSegmenter(MergeSegmenter):
    """Segmenter that does not split a pre-token that is a token, and merges all others.

    Args:
        merges, byte_ids, joined, by_result, derive: See :class:`tokbench.kernels.merge.MergeSegmenter`.
        tokens: Trie of the tokens that are not split.
    """

    cdef readonly Trie tokens
    cdef bint merged_whole      # whether merging already results in each of these tokens

    def __init__(
        self,
        merges: NDArray[np.int32],
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
        Trie tokens not None,
        by_result: bool = False,
        derive: bool = True,
    ):
        super().__init__(merges, byte_ids, joined, by_result, derive)
        self.tokens = tokens
        self.merged_whole = derive and self.derivations.complete and self.derivations.are_all_of(&tokens.view)

    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil:
        if self.merged_whole:
            return MergeSegmenter.cut_all(self, pieces, n, ids, scratch)
        return PretokenSegmenter.cut_all(self, pieces, n, ids, scratch)

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef const TrieView* trie = &self.tokens.view
        cdef int64_t i = 0
        cdef int32_t node = 0
        if self.merged_whole:
            return cut_derived(&self.derivations.view, text, size, ids, scratch)
        if size <= trie.max_length:
            while i < size and node >= 0:
                node = step(trie, node, text[i])
                i += 1
            if node >= 0 and token_at(trie, node) >= 0:
                ids[0] = token_at(trie, node)
                return 1
        return MergeSegmenter.cut(self, text, size, ids, scratch)
