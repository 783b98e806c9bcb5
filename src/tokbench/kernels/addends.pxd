from libc.stdint cimport int32_t, int64_t


cdef struct Slots:
    # Where a task lists the next addend of the first half of the tokens, and the next of the second half.
    double* numbers
    int32_t* tokens
    int64_t low
    int64_t high
    int32_t middle


cdef class Addends:
    cdef double[::1] numbers        # of each task: of the first half of the tokens in order, from the end back the others
    cdef int32_t[::1] tokens
    cdef const int64_t[::1] firsts  # the first edge of each task
    cdef int64_t[:, ::1] ends       # of each task: after the last of the first half, before the last of the second
    cdef int32_t middle             # the first token of the second half

    cdef Slots begin(self, int32_t task) noexcept nogil
    cdef void end(self, int32_t task, Slots slots) noexcept nogil
    cdef void sum_up(self, int32_t half, double[::1] sums) noexcept nogil


cdef inline void put(Slots* slots, int32_t token, double number) noexcept nogil:
    """List what an edge adds to its token's sum; what is 0 is written over by the next."""
    cdef bint counts = number != 0, later = token >= slots.middle
    slots.numbers[slots.low] = slots.numbers[slots.high] = number
    slots.tokens[slots.low] = slots.tokens[slots.high] = token
    slots.low += counts & (later ^ 1)
    slots.high -= counts & later
