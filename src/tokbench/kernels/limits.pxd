# What is numbered by int32, and how a kernel says that there is too much of it.

from libc.stdint cimport int32_t, int64_t


cdef enum:
    MOST = 0x7FFFFFFF       # positions, symbols, pairs or tokens
    LONGEST = 0x7FFFFFF0    # bytes of a pre-token: a little less, so that what comes after the last still has a number


cdef inline int within(int64_t number, const char* what) except -1 nogil:
    """Reject more than MOST."""
    if number > MOST:
        raise OverflowError(f"{number} {what.decode()}, more than the {MOST} that int32 can number")
    return 0


cdef inline int32_t next_number(size_t held, const char* what) except -1 nogil:
    """The number of what is added to as many."""
    within(<int64_t>held + 1, what)
    return <int32_t>held
