# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Threads that process the words of a text together and add up sums over edges per token.

Base class of the ascents of a bound and of the solver of shares. One thread leads and hands out tasks, one kind at a
time. A task must not fail, and its result must not depend on the thread that runs it.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from tokbench.kernels.addends cimport Addends

from tokbench.kernels.threads import parallel_map


cdef class Crew:
    """Base class; subclasses implement ``lead`` and ``perform``.

    The arrays are those of :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], first node of each word.
        counts: int64 [words], count of each word.
        first: int64 [nodes + 1], index of each node's first edge.
        starts: int32 [edges], start node of each edge.
        tokens: int32 [edges], token of each edge.
        kinds: Number of tokens.
        threads: Number of threads (default: 1).
    """

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int32_t threads=1,
    ):
        self.bounds, self.counts, self.first, self.starts, self.tokens = bounds, counts, first, starts, tokens
        self.kinds, self.threads = kinds, threads
        self.sums = np.zeros(kinds)
        begins = np.asarray(first)[np.asarray(bounds)]      # first edge of each word
        self.firsts = np.searchsorted(begins, np.arange(TASKS + 1) * len(starts) // TASKS).astype(np.int64)
        self.firsts[0], self.firsts[TASKS] = 0, len(counts)
        self.ranges = np.arange(TASKS + 1) * kinds // TASKS
        self.listed, self.listed_of = np.empty(kinds, np.int32), np.zeros(TASKS, np.int64)
        if threads > 1:
            self.addends = Addends(tokens, kinds, begins[self.firsts])

    cdef object work(self):
        """Run ``lead`` once, with helper threads."""
        self.team.convene()
        for _ in parallel_map(lambda turn: self._help(turn) if turn else self._lead(), range(self.threads), self.threads):
            pass

    def _lead(self):
        with nogil:
            self.lead()
            self.team.disband()

    def _help(self, int32_t turn):
        with nogil:
            while self.team.stand_by():
                self.take_part(turn)

    cdef void share_out(self, int32_t kind, int32_t tasks=TASKS) noexcept nogil:
        """Run all tasks of a kind."""
        cdef int32_t task
        self.kind = kind
        if self.threads > 1:
            self.team.lay_out(tasks)
            self.take_part(0)
            self.team.wait()
        else:
            for task in range(tasks):
                self.do_task(task, 0)

    cdef void share_words(self, int32_t kind) noexcept nogil:
        """Run tasks in which words add to the sums of tokens: directly with one thread, as addends with several."""
        cdef int64_t t
        if self.threads == 1:
            for t in range(self.kinds):
                self.sums[t] = 0
        self.share_out(kind)
        if self.threads > 1:
            self.share_out(SUM, 2)

    cdef int64_t list_above(self, double least) noexcept nogil:
        """List the tokens whose sums exceed a threshold, in order; return their number."""
        cdef int64_t listed = 0
        cdef int32_t task
        self.above = least
        self.share_out(LIST)
        for task in range(TASKS):
            if self.listed_of[task] > 0:
                memmove(&self.listed[listed], &self.listed[self.ranges[task]], self.listed_of[task] * sizeof(int32_t))
            listed += self.listed_of[task]
        return listed

    cdef void take_part(self, int32_t turn) noexcept nogil:
        """Run tasks until none is left."""
        cdef int32_t task = self.team.take()
        while task >= 0:
            self.do_task(task, turn)
            self.team.finish()
            task = self.team.take()

    cdef void do_task(self, int32_t task, int32_t turn) noexcept nogil:
        if self.kind == SUM:
            self.addends.sum_up(task, self.sums)
        elif self.kind == LIST:
            self.list_tokens(task)
        else:
            self.perform(self.kind, task, turn)

    cdef void list_tokens(self, int32_t task) noexcept nogil:
        cdef int64_t t, listed = self.ranges[task]
        for t in range(self.ranges[task], self.ranges[task + 1]):
            self.listed[listed] = <int32_t>t
            listed += self.sums[t] > self.above     # overwritten by the next one if not above
        self.listed_of[task] = listed - self.ranges[task]

    cdef void lead(self) noexcept nogil:
        """Run the work of the leading thread, which hands out tasks."""

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        """Run a task. Concurrent tasks have different values of ``turn``, below ``threads``."""
