# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exact sums of doubles, which can be split into parts and added in any order.

A double is an integer multiple of the smallest double. Sums of such integers are stored in digits of 32 bits, each in a
word of 64 bits, with room for 2^31 carries (Neal, "Fast exact summation using small and large superaccumulators",
2015).

Reference: ``whole_sum`` in :mod:`tokbench.reference.numbers`.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    DIGITS = 67         # of 32 bits, for 2046 positions of a mantissa of 53 bits
    OFTEN = 1 << 30     # numbers between carries
    FRACTION = 52       # bits of a double below the leading one
    SPECIAL = 2047      # exponent of infinities and NaN

cdef uint64_t LOW = 0xFFFFFFFF


cdef void carry(int64_t *digits) noexcept nogil:
    """Reduce all digits but the last to less than 2^32."""
    cdef int i
    for i in range(DIGITS - 1):
        digits[i + 1] += digits[i] >> 32
        digits[i] &= <int64_t>LOW


def whole_sum(const double[::1] values) -> int:
    """Return the sum of finite numbers in units of 2**-1074.

    Args:
        values: float64 [n].

    Returns:
        An integer. Divided by ``2**1074`` it is the sum, rounded once.

    Raises:
        ValueError: a number is not finite.
    """
    cdef int64_t digits[DIGITS]
    cdef int64_t i
    cdef uint64_t bits, mantissa, low, high
    cdef int place, shift
    memset(digits, 0, sizeof(digits))
    with nogil:
        for i in range(values.shape[0]):
            memcpy(&bits, &values[i], sizeof(bits))
            place = (bits >> FRACTION) & SPECIAL
            mantissa = bits & ((<uint64_t>1 << FRACTION) - 1)
            if place == SPECIAL:
                raise ValueError("a number that is not finite has no exact sum")
            if place:
                mantissa |= <uint64_t>1 << FRACTION
                place -= 1
            shift = place & 31
            place >>= 5
            low = (mantissa & LOW) << shift
            high = ((mantissa >> 32) << shift) + (low >> 32)
            if bits >> 63:
                digits[place] -= <int64_t>(low & LOW)
                digits[place + 1] -= <int64_t>(high & LOW)
                digits[place + 2] -= <int64_t>(high >> 32)
            else:
                digits[place] += <int64_t>(low & LOW)
                digits[place + 1] += <int64_t>(high & LOW)
                digits[place + 2] += <int64_t>(high >> 32)
            if (i + 1) % OFTEN == 0:
                carry(digits)
        carry(digits)
    total = 0
    for place in range(DIGITS - 1, -1, -1):
        total = (total << 32) + digits[place]
    return total
