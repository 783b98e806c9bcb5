# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# distutils: language = c++
"""Threads that do small tasks together, a kind at a time, while one of them leads: what the ascent of a bound and the
method for its shares have in common. What is done must not depend on who does it, nor may it fail."""

from libc.stdint cimport int32_t

from tokbench.parallel import mapped


cdef class Crew:
    """A subclass says what to lead is, and what a task is.

    Args:
        threads: threads to use.
    """

    def __init__(self, int32_t threads=1):
        self.threads = threads

    cdef object work(self):
        """Lead once, with the others' help."""
        self.team.convene()
        for _ in mapped(lambda turn: self._help(turn) if turn else self._lead(), range(self.threads), self.threads):
            pass

    def _lead(self):
        with nogil:
            self.lead()
            self.team.disband()

    def _help(self, int32_t turn):
        with nogil:
            while self.team.stand_by():
                self.take_part(turn)

    cdef void share_out(self, int32_t kind, int32_t tasks) noexcept nogil:
        """See that all tasks of a kind are done."""
        cdef int32_t task
        self.kind = kind
        if self.threads > 1:
            self.team.lay_out(tasks)
            self.take_part(0)
            self.team.wait()
        else:
            for task in range(tasks):
                self.perform(kind, task, 0)

    cdef void take_part(self, int32_t turn) noexcept nogil:
        """Do tasks until all of them are taken."""
        cdef int32_t task = self.team.take()
        while task >= 0:
            self.perform(self.kind, task, turn)
            self.team.finish()
            task = self.team.take()

    cdef void lead(self) noexcept nogil:
        """What one thread does, and shares out."""

    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil:
        """Do a task; of two threads that do tasks at once, each has a ``turn`` of its own, below ``threads``."""
