from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.segmenter cimport PretokenSegmenter, Scratch
from tokbench.kernels.splitmix cimport advanced, mixed


cdef enum:
    NO_RANK = 0x7FFFFFFF        # of two neighbours that no merge joins


cdef struct Pair:
    int32_t left        # -1 where the place is empty
    int32_t right
    int32_t rank


cdef struct MergeTable:
    const Pair* pairs           # open addressing, linear probing
    int32_t shift               # 64 less the binary logarithm of the number of places
    const int32_t* results      # token made by the merge of each rank
    const int32_t* byte_ids     # id of each byte
    const uint8_t* joined       # [65536]: whether some token holds byte a followed by byte b, at 256 a + b


cdef inline uint64_t slot_of(int32_t left, int32_t right, int32_t shift) noexcept nogil:
    """Fibonacci hashing of a pair."""
    return (((<uint64_t>left << 32) | <uint64_t>right) * <uint64_t>0x9E3779B97F4A7C15) >> shift


cdef inline int32_t rank_of(const MergeTable* table, int32_t left, int32_t right) noexcept nogil:
    """Rank of the merge of two neighbours, NO_RANK where there is none."""
    cdef uint64_t mask = ((<uint64_t>1) << (64 - table.shift)) - 1
    cdef uint64_t place = slot_of(left, right, table.shift)
    cdef const Pair* pair
    while True:
        pair = &table.pairs[place]
        if pair.left == left and pair.right == right:
            return pair.rank
        if pair.left < 0:
            return NO_RANK
        place = (place + 1) & mask


cdef inline bint drops(uint64_t* state, uint64_t dropped) noexcept nogil:
    """One draw: whether a merge is left out, which happens for ``dropped`` of 2^53 equally likely numbers."""
    state[0] = advanced(state[0])
    return mixed(state[0]) >> 11 < dropped


# Where ``dropped`` is 0 nothing is drawn and ``state`` does not matter.
cdef int64_t merge_long(
    const MergeTable* table, int32_t size, int32_t* ids, Scratch* scratch, uint64_t state, uint64_t dropped
) noexcept nogil


cdef class MergeSegmenter(PretokenSegmenter):
    cdef MergeTable table
    cdef object arrays
