from libc.stdint cimport int32_t, uint8_t

from tokbench.kernels.pair_table cimport PairTable
from tokbench.kernels.segmenter cimport PretokenSegmenter


cdef struct TupleTable:
    PairTable steps         # next node of the trie of parts, by node and id; the root is 0
    const int32_t* ranks    # per node: rank of the merge whose parts end there, or NO_VALUE
    const int32_t* results  # per rank
    const int32_t* sizes    # per rank: number of parts
    int32_t longest         # largest number of parts
    const int32_t* byte_ids
    const uint8_t* joined   # [65536]: 1 at 256 a + b if some token contains byte a followed by byte b


cdef class TupleSegmenter(PretokenSegmenter):
    cdef TupleTable table
    cdef object arrays
