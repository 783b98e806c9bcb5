from libc.stdint cimport int32_t, int64_t

from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class PostRemovalSegmenter(PretokenSegmenter):
    cdef PretokenSegmenter merger
    cdef Trie whole
    cdef int32_t present
    cdef const int64_t[::1] bounds
    cdef const int32_t[::1] parts
