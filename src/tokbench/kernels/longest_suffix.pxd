from tokbench.kernels.segmenter cimport PretokenSegmenter
from tokbench.kernels.trie cimport Trie


cdef class LongestSuffixSegmenter(PretokenSegmenter):
    cdef Trie suffixes
