from libc.stdint cimport int64_t, uint8_t


cpdef enum Scheme:
    NONE
    SPACE
    DIGIT
    SPACE_DIGIT
    FIRST_SPACE
    FIRST_SPACE_DIGIT
    GPT2


# The end of the pre-token that starts at ``start``, which must be a boundary and less than ``end``. What follows a
# boundary depends on nothing before it, so a scan may stop and resume at any boundary.
cdef int64_t next_boundary(Scheme scheme, const uint8_t* text, int64_t start, int64_t end) noexcept nogil

# The same for several pre-tokens in a row: writes their ends into ``bounds`` and returns how many there are, at least
# one and at most ``room``. It is fast with room for many more than 64.
cdef int64_t next_boundaries(
    Scheme scheme, const uint8_t* text, int64_t start, int64_t end, int64_t* bounds, int64_t room
) noexcept nogil
