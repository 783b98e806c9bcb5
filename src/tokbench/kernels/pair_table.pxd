# A hash table from pairs of ids to values in a caller-owned array, with open addressing and linear probing.

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef enum:
    NO_VALUE = 0x7FFFFFFF       # of a pair that is not in the table


cdef extern from *:
    """
    #include <stdint.h>

    typedef struct {
        int32_t left;           /* -1 if the place is empty */
        int32_t right;
        int32_t value;          /* NO_VALUE if the place is empty */
    } Pair;

    typedef struct {
        Pair *pairs;
        int32_t shift;          /* 64 minus the binary logarithm of the number of places */
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
    """Return the shift of a table that this many pairs fill at most by half."""
    cdef int32_t shift = 62
    while (<int64_t>1 << (64 - shift)) < 2 * pairs:
        shift -= 1
    return shift


cdef inline Pair* slot_of(const PairTable* table, int32_t left, int32_t right) noexcept nogil:
    """Return the entry of a pair, or the empty place for it; by Fibonacci hashing."""
    cdef uint64_t mask = (<uint64_t>1 << (64 - table.shift)) - 1
    cdef uint64_t place = (((<uint64_t>left << 32) | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15) >> table.shift
    while table.pairs[place].left >= 0 and (table.pairs[place].left != left or table.pairs[place].right != right):
        place = (place + 1) & mask
    return &table.pairs[place]


cdef inline int32_t value_of(const PairTable* table, int32_t left, int32_t right) noexcept nogil:
    """Return the value of a pair; NO_VALUE if it is not in the table."""
    return slot_of(table, left, right).value
