from libc.stdint cimport int32_t, int64_t


cdef struct Slots:
    # Write positions of a task: next addend of the first half of the tokens, and next addend of the second half.
    double* numbers
    int32_t* tokens
    int64_t low
    int64_t high
    int32_t middle


cdef class Addends:
    # per task: addends of the first half of the tokens from the start, of the second half from the end
    cdef double[::1] numbers
    cdef int32_t[::1] tokens
    cdef const int64_t[::1] firsts  # first edge of each task
    cdef int64_t[:, ::1] ends       # per task: end of the first half, and end of the second half (exclusive, backwards)
    cdef int32_t middle             # first token of the second half

    cdef Slots begin(self, int32_t task) noexcept nogil
    cdef void end(self, int32_t task, Slots slots) noexcept nogil
    cdef void sum_up(self, int32_t half, double[::1] sums) noexcept nogil


cdef inline void put(Slots* slots, int32_t token, double number) noexcept nogil:
    """Append an addend to its token's list; a 0 is overwritten by the next one."""
    cdef bint counts = number != 0, later = token >= slots.middle
    slots.numbers[slots.low] = slots.numbers[slots.high] = number
    slots.tokens[slots.low] = slots.tokens[slots.high] = token
    slots.low += counts & (later ^ 1)
    slots.high -= counts & later
