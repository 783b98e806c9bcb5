from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class GreedySegmenter(PretokenSegmenter):
    cdef Trie first
    cdef Trie rest
