from libc.stdint cimport uint64_t

from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class ShortestPathSegmenter(PretokenSegmenter):
    cdef Trie suffixes
    cdef bint random
    cdef uint64_t seed
