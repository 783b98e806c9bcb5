from libc.stdint cimport int32_t, int64_t, uint8_t

from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef struct Pair:
    int32_t left            # -1 where the place is empty
    int32_t right
    int32_t event           # the first that merges the pair


cdef struct EventTable:
    const Pair* pairs       # open addressing, linear probing
    int32_t shift           # 64 less the binary logarithm of the number of places
    const int32_t* splits   # of each token: the first event that removes it, or -1
    const int32_t* same     # of each event: the next one with the same pair or the same removed token, or -1
    const int32_t* made     # [events, 2]: token, whether it is removed
    const int64_t* bounds   # of each event: where its parts start; one entry more than events
    const int32_t* parts
    const int64_t* offsets  # of each token, laid end to end
    const uint8_t* joined   # [65536]: whether some token holds byte a followed by byte b, at 256 a + b
    bint ordered            # whether no event may follow a later one


cdef class EventSegmenter(PretokenSegmenter):
    cdef Trie whole
    cdef Trie atoms
    cdef EventTable table
    cdef object arrays


cdef class PostRemovalSegmenter(PretokenSegmenter):
    cdef EventSegmenter merger
    cdef int32_t present
    cdef const int64_t[::1] bounds
    cdef const int32_t[::1] parts
