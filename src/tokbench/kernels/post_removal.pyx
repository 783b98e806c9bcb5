# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Segmentation by any method, after which removed tokens are replaced by shorter ones.

Reference: ``post_removal`` in :mod:`tokbench.reference.segmentation`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.trie cimport Trie, step, token_at

import numpy as np


cdef class PostRemovalSegmenter(PretokenSegmenter):
    """Segmenter that replaces some tokens of another segmenter.

    Args:
        merger: Segmenter that is applied first.
        whole: Trie of the pre-tokens that are not split; None for none.
        present: Ids below this are not replaced.
        bounds: int64 [removed + 1], start of the replacement of id ``present + i``.
        parts: int32, ids below ``present``; at most as many for an id as it has bytes.
    """

    def __init__(
        self,
        PretokenSegmenter merger not None,
        Trie whole,
        int32_t present,
        bounds: NDArray[np.int64],
        parts: NDArray[np.int32],
    ):
        self.merger, self.whole, self.present = merger, whole, present
        self.bounds = np.array(bounds, dtype=np.int64)
        self.parts = np.array(parts, dtype=np.int32)

    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil:
        cdef int64_t count, total, place = 0, i, k
        cdef int32_t node = 0, removed
        if self.whole is not None:
            while place < size and node >= 0:
                node = step(&self.whole.view, node, text[place])
                place += 1
            if node >= 0 and token_at(&self.whole.view, node) >= 0:
                ids[0] = token_at(&self.whole.view, node)
                return 1
        count = total = self.merger.cut(text, size, ids, scratch)
        for i in range(count):
            removed = ids[i] - self.present
            if removed >= 0:
                total += self.bounds[removed + 1] - self.bounds[removed] - 1
        # Backwards: the write position is never before the read position.
        place = total
        for i in range(count - 1, -1, -1):
            removed = ids[i] - self.present
            if removed < 0:
                place -= 1
                ids[place] = ids[i]
            else:
                for k in range(self.bounds[removed + 1] - 1, self.bounds[removed] - 1, -1):
                    place -= 1
                    ids[place] = self.parts[k]
        return total
