# What is known of pairs of ids: a table in an array of the caller's, open addressing with linear probing.

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef enum:
    NO_VALUE = 0x7FFFFFFF       # of a pair that the table does not hold


cdef extern from *:
    """
    #include <stdint.h>

    typedef struct {
        int32_t left;           /* -1 where the place is empty */
        int32_t right;
        int32_t value;          /* NO_VALUE where the place is empty */
    } Pair;

    typedef struct {
        Pair *pairs;
        int32_t shift;          /* 64 less the binary logarithm of the number of places */
    } PairTable;
    """
    ctypedef struct Pair:
        int32_t left
        int32_t right
        int32_t value

    ctypedef struct PairTable:
        Pair* pairs
        int32_t shift


cdef inline int32_t shift_for(int64_t pairs) noexcept nogil:
    """The shift of a table that so many pairs fill by half at most."""
    cdef int32_t shift = 62
    while (<int64_t>1 << (64 - shift)) < 2 * pairs:
        shift -= 1
    return shift


cdef inline Pair* slot_of(const PairTable* table, int32_t left, int32_t right) noexcept nogil:
    """Where a pair stands, or the empty place where it would; by Fibonacci hashing."""
    cdef uint64_t mask = (<uint64_t>1 << (64 - table.shift)) - 1
    cdef uint64_t place = (((<uint64_t>left << 32) | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15) >> table.shift
    while table.pairs[place].left >= 0 and (table.pairs[place].left != left or table.pairs[place].right != right):
        place = (place + 1) & mask
    return &table.pairs[place]


cdef inline int32_t value_of(const PairTable* table, int32_t left, int32_t right) noexcept nogil:
    """What is known of a pair, NO_VALUE where nothing is."""
    return slot_of(table, left, right).value
