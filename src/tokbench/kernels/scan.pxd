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
    WIDEST = 4      # length of the longest character in bytes


# Base class of scanners, which split texts into pre-tokens. What follows a boundary depends on nothing before it, so a
# scan may stop and resume at any boundary. Immutable and thus thread-safe.
cdef class Scanner:
    cdef readonly bint settles      # whether any text can be split at some place

    # Write the ends of several consecutive pre-tokens from ``start`` on to ``bounds`` and return their number, 1 to
    # ``room``. ``start`` must be a boundary and less than ``end``. Fast if ``room`` is much more than 64.
    cdef int64_t next_boundaries(
        self, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
    ) noexcept nogil

    # Whether a text of ``size`` bytes can be split at a place, WIDEST to size - 1, with any text before and after it.
    cdef bint is_settled(self, const uint8_t* text, int64_t place, int64_t size) noexcept nogil


cdef class SchemeScanner(Scanner):
    cdef readonly Scheme scheme
