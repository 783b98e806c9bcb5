# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Numbers that several threads find, edge by edge, and that are added to the sums of tokens in the order of the edges.

Whoever goes through words lists what their edges add; after that the tokens' sums are made by two threads, of one half
of the tokens each. So every sum is rounded as if one thread had gone through all.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef class Addends:
    """Room for one number an edge.

    Args:
        tokens: int32 [edges], the token of each.
        kinds: how many tokens there are.
        firsts: int64 [tasks + 1], the first edge of each task; the last entry is how many edges there are.
    """

    def __init__(self, tokens: NDArray[np.int32], int64_t kinds, const int64_t[::1] firsts):
        self.firsts = firsts
        self.numbers, self.tokens = np.empty(len(tokens)), np.empty(len(tokens), np.int32)
        self.ends = np.zeros((len(firsts) - 1, 2), np.int64)
        self.middle = np.searchsorted(np.cumsum(np.bincount(tokens, minlength=kinds)), len(tokens) // 2)

    cdef Slots begin(self, int32_t task) noexcept nogil:
        """Where a task's addends go."""
        cdef Slots slots
        slots.numbers, slots.tokens, slots.middle = NULL, NULL, self.middle
        slots.low, slots.high = self.firsts[task], self.firsts[task + 1] - 1
        if slots.low <= slots.high:
            slots.numbers, slots.tokens = &self.numbers[0], &self.tokens[0]
        return slots

    cdef void end(self, int32_t task, Slots slots) noexcept nogil:
        """Nothing more comes from a task."""
        self.ends[task, 0], self.ends[task, 1] = slots.low, slots.high

    cdef void sum_up(self, int32_t half, double[::1] sums) noexcept nogil:
        """Make the sums of the first or the second half of the tokens."""
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
