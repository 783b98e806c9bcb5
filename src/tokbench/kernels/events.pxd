from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.pair_table cimport PairTable
from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef struct EventTable:
    PairTable merges        # first event that merges two ids
    const int32_t* splits   # per token: first event that removes it
    const int32_t* same     # per event: next one that merges the same pair or removes the same token
    const int32_t* tokens   # per event: token made or removed
    const uint8_t* removes  # per event: whether it is a removal
    const int64_t* bounds   # per event: start of its parts; one entry more than events
    const int32_t* parts
    const int32_t* lengths  # per token, in bytes
    const int32_t* byte_ids
    const uint8_t* joined   # [65536]: 1 at 256 a + b if some token contains byte a followed by byte b


cdef class EventSegmenter(PretokenSegmenter):
    cdef Trie whole
    cdef EventTable table
    cdef object arrays
