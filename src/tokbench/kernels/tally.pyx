# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Counts of numbers by the high or low half of their bits, for exact percentiles.

The bits are those of float32, mapped to the order of the numbers: the sign bit is flipped, or all bits of a negative
number.

Reference: :func:`tokbench.construction.bytespan.ordered_bits`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy


cdef inline uint32_t ordered(float value) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &value, sizeof(bits))
    return bits ^ ((<uint32_t>0 - (bits >> 31)) | (<uint32_t>1 << 31))


def tally_high(const float[::1] values, int64_t[::1] tally) -> None:
    """Count numbers by their high sixteen bits.

    Args:
        values: float32 [n].
        tally: int64 [65536], added to.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            tally[ordered(values[i]) >> 16] += 1


def tally_low(int64_t high, const float[::1] values, int64_t[::1] tally) -> None:
    """Count the numbers with given high bits by their low sixteen bits.

    Args:
        high: The sixteen high bits.
        values: float32 [n].
        tally: int64 [65536], added to.
    """
    cdef Py_ssize_t i
    cdef uint32_t bits
    with nogil:
        for i in range(values.shape[0]):
            bits = ordered(values[i])
            if bits >> 16 == <uint32_t>high:
                tally[bits & 0xFFFF] += 1
