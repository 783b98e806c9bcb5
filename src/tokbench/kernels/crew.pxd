from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Addends
from tokbench.kernels.team cimport Team

cdef enum:
    TASKS = 64          # number of parts of the words or tokens
    SUM = 100           # task kinds of every crew: add up the sums of half of the tokens
    LIST = 101          # list the tokens whose sums exceed a threshold


cdef class Crew:
    cdef const int64_t[::1] bounds, counts, first
    cdef const int32_t[::1] starts, tokens
    cdef int64_t kinds
    cdef double[::1] sums           # per token: sum over its edges
    cdef int64_t[::1] firsts        # first word of each task
    cdef int64_t[::1] ranges        # first token of each task
    cdef Addends addends            # used with several threads
    cdef int32_t[::1] listed        # tokens listed by each task, from its first token on; then all of them, compacted
    cdef int64_t[::1] listed_of     # number of tokens listed by each task
    cdef double above               # threshold of the list
    cdef Team team
    cdef int32_t threads
    cdef int32_t kind               # kind of the current tasks

    cdef object work(self)
    cdef void share_out(self, int32_t kind, int32_t tasks=*) noexcept nogil
    cdef void share_words(self, int32_t kind) noexcept nogil
    cdef int64_t list_above(self, double least) noexcept nogil
    cdef void take_part(self, int32_t turn) noexcept nogil
    cdef void do_task(self, int32_t task, int32_t turn) noexcept nogil
    cdef void list_tokens(self, int32_t task) noexcept nogil
    cdef void lead(self) noexcept nogil
    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil
