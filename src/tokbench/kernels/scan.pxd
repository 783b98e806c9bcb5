from libc.stdint cimport int64_t, uint8_t


cpdef enum Scheme:
    NONE
    SPACE
    DIGIT
    SPACE_DIGIT
    FIRST_SPACE
    FIRST_SPACE_DIGIT
    GPT2


cdef enum:
    WIDEST = 4      # bytes of the longest character


# What cuts a text into pre-tokens. What follows a boundary depends on nothing before it, so a scan may stop and resume
# at any boundary. Immutable, hence safe to use from any number of threads at once.
cdef class Scanner:
    cdef readonly bint settles      # whether there is any place at which some text can be cut

    # The ends of several pre-tokens in a row, from ``start`` on, which must be a boundary and less than ``end``. Writes
    # them into ``bounds`` and returns how many there are, at least one and at most ``room``. It is fast with room for
    # many more than 64.
    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil

    # Whether a text of ``size`` bytes can be cut at a place, WIDEST to size - 1, whatever precedes and follows it.
    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil


cdef class SchemeScanner(Scanner):
    cdef readonly Scheme scheme
