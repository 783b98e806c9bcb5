from libc.stdint cimport uint64_t

from tokbench.kernels.matches cimport SuffixLinks
from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class ShortestPathSegmenter(PretokenSegmenter):
    cdef Trie suffixes
    cdef SuffixLinks links      # None if no token is long
    cdef bint random
    cdef uint64_t seed
