# cython: cdivision=True
# Bits of documents, added as integer multiples of 2**-52, so that sums do not depend on the order of places.

from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.elementary cimport log


cdef enum:
    FRACTION = 52           # binary places of the sums


cdef struct Sums:
    # Output arrays of the sums.
    const int64_t *ends         # place of each document's EOS
    int64_t documents
    int64_t orders
    int32_t *document           # document of each record of the current token, set where it is scored
    int64_t *whole              # integer part, by document and order
    int64_t *parts              # fraction, in units of 2**-52
    double *probabilities       # by place and order; NULL if not requested
    int64_t first               # first place of ``probabilities``


cdef inline int32_t document_of(Sums *sums, int64_t place) noexcept nogil:
    """Return the document of a place."""
    cdef int64_t low = 0, high = sums.documents, middle
    while low < high:
        middle = (low + high) // 2
        if sums.ends[middle] < place:
            low = middle + 1
        else:
            high = middle
    return <int32_t>low


cdef inline void add(
    Sums *sums, int32_t document, int64_t place, int64_t order, double probability
) noexcept nogil:
    """Add the bits of a place to those of its document."""
    cdef int64_t row = document * sums.orders + order - 1, whole
    cdef double bits = -log(probability) * <double>1.4426950408889634      # bits per nat
    whole = <int64_t>bits
    sums.parts[row] += <int64_t>((bits - whole) * <double>(<int64_t>1 << FRACTION))
    sums.whole[row] += whole + (sums.parts[row] >> FRACTION)
    sums.parts[row] &= (<int64_t>1 << FRACTION) - 1
    if sums.probabilities:
        sums.probabilities[(place - sums.first) * sums.orders + order - 1] = probability
