from libc.stdint cimport int32_t

from tokbench.kernels.team cimport Team


cdef class Crew:
    cdef Team team
    cdef int32_t threads
    cdef int32_t kind               # of the tasks that are laid out

    cdef object work(self)
    cdef void share_out(self, int32_t kind, int32_t tasks) noexcept nogil
    cdef void take_part(self, int32_t turn) noexcept nogil
    cdef void lead(self) noexcept nogil
    cdef void perform(self, int32_t kind, int32_t task, int32_t turn) noexcept nogil
