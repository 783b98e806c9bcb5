# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums over edges per token, computed by several threads and added in the order of the edges.

Each thread lists the addends of its words. Then two threads add up the tokens' sums, half of the tokens each. So every
sum is rounded as if a single thread had processed all words.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef class Addends:
    """Storage for one number per edge.

    Args:
        tokens: int32 [edges], token of each edge.
        kinds: Number of tokens.
        firsts: int64 [tasks + 1], first edge of each task; the last entry is the number of edges.
    """

    def __init__(self, tokens: NDArray[np.int32], int64_t kinds, const int64_t[::1] firsts):
        self.firsts = firsts
        self.numbers, self.tokens = np.empty(len(tokens)), np.empty(len(tokens), np.int32)
        self.ends = np.zeros((len(firsts) - 1, 2), np.int64)
        self.middle = np.searchsorted(np.cumsum(np.bincount(tokens, minlength=kinds)), len(tokens) // 2)

    cdef Slots begin(self, int32_t task) noexcept nogil:
        """Return the write positions of a task."""
        cdef Slots slots
        slots.numbers, slots.tokens, slots.middle = NULL, NULL, self.middle
        slots.low, slots.high = self.firsts[task], self.firsts[task + 1] - 1
        if slots.low <= slots.high:
            slots.numbers, slots.tokens = &self.numbers[0], &self.tokens[0]
        return slots

    cdef void end(self, int32_t task, Slots slots) noexcept nogil:
        """Finish a task."""
        self.ends[task, 0], self.ends[task, 1] = slots.low, slots.high

    cdef void sum_up(self, int32_t half, double[::1] sums) noexcept nogil:
        """Add up the sums of the first or the second half of the tokens."""
        cdef int64_t t, i
        cdef int32_t task
        for t in range(self.middle if half else 0, sums.shape[0] if half else self.middle):
            sums[t] = 0
        for task in range(self.ends.shape[0]):
            if half:
                for i in range(self.firsts[task + 1] - 1, self.ends[task, 1], -1):
                    sums[self.tokens[i]] += self.numbers[i]
            else:
                for i in range(self.firsts[task], self.ends[task, 0]):
                    sums[self.tokens[i]] += self.numbers[i]
