from tokbench.kernels.matches cimport SuffixLinks
from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class LikelihoodSegmenter(PretokenSegmenter):
    cdef Trie suffixes
    cdef SuffixLinks links      # None if no token is long
    cdef const double[::1] scores
