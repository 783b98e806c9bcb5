# cython: cdivision=True
# Bits of documents, added as whole numbers of 2**-52, so that no order of places changes a sum.

from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.elementary cimport log


cdef enum:
    FRACTION = 52           # binary places in which bits are added


cdef struct Sums:
    # Where bits are added.
    const int64_t *ends         # the place of each document's EOS
    int64_t documents
    int64_t orders
    int32_t *document           # of each record of the token at hand, where it is scored
    int64_t *whole              # by document and order
    int64_t *parts              # below one bit, in units of 2**-52
    double *probabilities       # by place and order; NULL where they are not asked for
    int64_t first               # place of these


cdef inline int32_t document_of(Sums *sums, int64_t place) noexcept nogil:
    """The document that a place is in."""
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
    """Add a place's bits to those of its document."""
    cdef int64_t row = document * sums.orders + order - 1, whole
    cdef double bits = -log(probability) * <double>1.4426950408889634      # bits in a nat
    whole = <int64_t>bits
    sums.parts[row] += <int64_t>((bits - whole) * <double>(<int64_t>1 << FRACTION))
    sums.whole[row] += whole + (sums.parts[row] >> FRACTION)
    sums.parts[row] &= (<int64_t>1 << FRACTION) - 1
    if sums.probabilities:
        sums.probabilities[(place - sums.first) * sums.orders + order - 1] = probability
