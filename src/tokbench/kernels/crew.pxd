from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.addends cimport Addends
from tokbench.kernels.team cimport Team

cdef enum:
    TASKS = 64          # that words or tokens are shared out in
    SUM = 100           # kinds of tasks that every crew has: to sum what words add to half of the tokens
    LIST = 101          # to list the tokens whose sums are above one


cdef class Crew:
    cdef const int64_t[::1] bounds, counts, first
    cdef const int32_t[::1] starts, tokens
    cdef int64_t kinds
    cdef double[::1] sums           # of each token, of what its edges add
    cdef int64_t[::1] firsts        # the first word of each task
    cdef int64_t[::1] ranges        # the first token of each task
    cdef Addends addends            # with threads
    cdef int32_t[::1] listed        # tokens, from the first of each task on, then all that are listed
    cdef int64_t[::1] listed_of     # of each task, how many
    cdef double above               # what their sums are above
    cdef Team team
    cdef int32_t threads
    cdef int32_t kind               # of the tasks that are laid out

    cdef object work(self)
    cdef void share_out(self, int32_t kind, int32_t tasks=*) noexcept nogil
    cdef void share_words(self, int32_t kind) noexcept nogil
    cdef int64_t list_above(self, double least) noexcept nogil
    cdef void take_part(self, int32_t turn) noexcept nogil
    cdef void do_task(self, int32_t task, int32_t turn) noexcept nogil
    cdef void list_tokens(self, int32_t task) noexcept nogil
    cdef void lead(self) noexcept nogil
    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil
