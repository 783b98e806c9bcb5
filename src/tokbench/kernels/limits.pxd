# Limits of int32 indices, and the errors for exceeding them.

from libc.stdint cimport int32_t, int64_t


cdef enum:
    MOST = 0x7FFFFFFF       # positions, symbols, pairs or tokens
    LONGEST = 0x7FFFFFF0    # bytes of a pre-token: slightly less, so that indices after the last byte fit


cdef inline int within(int64_t number, const char* what) except -1 nogil:
    """Check that a number is at most MOST."""
    if number > MOST:
        raise OverflowError(f"{number} {what.decode()}, more than the {MOST} that int32 can number")
    return 0


cdef inline int32_t next_number(size_t held, const char* what) except -1 nogil:
    """Return the index of the next item after ``held`` items."""
    within(<int64_t>held + 1, what)
    return <int32_t>held
