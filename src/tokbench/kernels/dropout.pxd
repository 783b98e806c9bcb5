from libc.stdint cimport uint64_t

from tokbench.kernels.merge cimport MergeSegmenter


cdef class DropoutSegmenter(MergeSegmenter):
    cdef uint64_t dropped
    cdef uint64_t seed
