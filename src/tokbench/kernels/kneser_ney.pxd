# cython: cdivision=True
# Interpolated modified Kneser-Ney smoothing of one context (Chen and Goodman 1998, section 3): counts of its tokens,
# discounts, and probabilities from these and the next lower order.

from libc.stdint cimport int64_t


cdef struct Counts:
    # Tokens after a context, by raw or by continuation counts.
    int64_t total
    int64_t[4] types            # by count; index 0 is unused, the last is for three or more


cdef struct Discounts:
    double[4] of                # by count; the last is for three or more


cdef inline void count_up(Counts *counts, int64_t count) noexcept nogil:
    """Record that the count of a type has increased to ``count``."""
    counts.total += 1
    if count <= 3:
        counts.types[count] += 1
        counts.types[count - 1] -= 1


cdef inline double interpolated(int64_t count, Counts *counts, Discounts *discounts, double below) noexcept nogil:
    """Return the probability of a token with a count after a context; ``below`` is that of the lower order."""
    cdef double gamma
    if counts.total == 0:
        return below
    gamma = (
        discounts.of[1] * counts.types[1] + discounts.of[2] * counts.types[2] + discounts.of[3] * counts.types[3]
    )
    return ((count - discounts.of[min(count, 3)] if count else 0) + gamma * below) / counts.total


cdef inline Discounts discounts_of(const int64_t *types) noexcept nogil:
    """Return the discounts for the numbers of types with each count."""
    cdef Discounts made
    cdef double y
    cdef int64_t i
    made.of[0] = 0
    for i in range(1, 4):
        made.of[i] = 0.75
    if types[1] and types[2] and types[3] and types[4]:
        y = types[1] / (types[1] + 2.0 * types[2])
        for i in range(1, 4):
            made.of[i] = max(0.1, min(i - 0.01, i - (i + 1) * y * types[i + 1] / types[i]))
    return made
