# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Threads that go through the words of a text together, and sum what their edges add to tokens: what the ascent of a
bound and the method for its shares have in common. One of them leads, and has tasks done, a kind at a time. What is
done must not depend on who does it, nor may it fail."""

import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

from tokbench.kernels.addends cimport Addends

from tokbench.kernels.threads import parallel_map


cdef class Crew:
    """A subclass says what to lead is, and what a task is; its arrays are those of
    :func:`tokbench.kernels.edges.token_edges`.

    Args:
        bounds: int64 [words + 1], each word's first node.
        counts: int64 [words], occurrences of the words.
        first: int64 [nodes + 1], where each node's edges start.
        starts: int32 [edges], where each begins.
        tokens: int32 [edges], the token of each.
        kinds: how many tokens there are.
        threads: threads to use.
    """

    def __init__(
        self, const int64_t[::1] bounds, const int64_t[::1] counts, const int64_t[::1] first,
        const int32_t[::1] starts, const int32_t[::1] tokens, int64_t kinds, int32_t threads=1,
    ):
        self.bounds, self.counts, self.first, self.starts, self.tokens = bounds, counts, first, starts, tokens
        self.kinds, self.threads = kinds, threads
        self.sums = np.zeros(kinds)
        begins = np.asarray(first)[np.asarray(bounds)]      # the first edge of each word
        self.firsts = np.searchsorted(begins, np.arange(TASKS + 1) * len(starts) // TASKS).astype(np.int64)
        self.firsts[0], self.firsts[TASKS] = 0, len(counts)
        self.ranges = np.arange(TASKS + 1) * kinds // TASKS
        self.listed, self.listed_of = np.empty(kinds, np.int32), np.zeros(TASKS, np.int64)
        if threads > 1:
            self.addends = Addends(tokens, kinds, begins[self.firsts])

    cdef object work(self):
        """Lead once, with the others' help."""
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
        """See that all tasks of a kind are done."""
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
        """Share out tasks in which words add to the sums of tokens: one thread by itself, several as addends."""
        cdef int64_t t
        if self.threads == 1:
            for t in range(self.kinds):
                self.sums[t] = 0
        self.share_out(kind)
        if self.threads > 1:
            self.share_out(SUM, 2)

    cdef int64_t list_above(self, double least) noexcept nogil:
        """List the tokens whose sums are above one, in order; how many they are."""
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
        """Do tasks until all of them are taken."""
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
            listed += self.sums[t] > self.above     # one that is not is written over
        self.listed_of[task] = listed - self.ranges[task]

    cdef void lead(self) noexcept nogil:
        """What one thread does, and shares out."""

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        """Do a task; of two threads that do tasks at once, each has a ``turn`` of its own, below ``threads``."""
