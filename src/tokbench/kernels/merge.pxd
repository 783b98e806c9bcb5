from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.segmenter cimport PretokenSegmenter


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


cdef class MergeSegmenter(PretokenSegmenter):
    cdef MergeTable table
    cdef object arrays
