from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class LikelihoodSegmenter(PretokenSegmenter):
    cdef Trie suffixes
    cdef const double[::1] scores
