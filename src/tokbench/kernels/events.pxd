from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.pair_table cimport PairTable
from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef struct EventTable:
    PairTable merges        # the first event that merges two ids
    const int32_t* splits   # of each token: the first event that removes it
    const int32_t* same     # of each event: the next one that merges the same pair or removes the same token
    const int32_t* tokens   # of each event: the token made or removed
    const uint8_t* removes  # of each event: whether it is a removal
    const int64_t* bounds   # of each event: where its parts start; one entry more than events
    const int32_t* parts
    const int32_t* lengths  # of each token, in bytes
    const int32_t* byte_ids
    const uint8_t* joined   # [65536]: whether some token holds byte a followed by byte b, at 256 a + b


cdef class EventSegmenter(PretokenSegmenter):
    cdef Trie whole
    cdef EventTable table
    cdef object arrays
