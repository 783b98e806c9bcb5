from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tokbench.kernels.abreast cimport Abreast
from tokbench.kernels.derivations cimport Derivations
from tokbench.kernels.pair_table cimport PairTable
from tokbench.kernels.segmenter cimport Piece, PretokenSegmenter, Scratch
from tokbench.kernels.splitmix cimport advanced, mixed


cdef enum:
    SHORT = 64                  # longest piece merged by scanning


cdef struct MergeTable:
    PairTable rows              # row of the merge of two ids
    const int32_t* ranks        # rank of each row; rows may share one
    const int32_t* results      # token made by each row
    const int32_t* byte_ids     # id of each byte
    const uint8_t* joined       # [65536]: 1 at 256 a + b if some token contains byte a followed by byte b


cdef inline bint drops(uint64_t* state, uint64_t dropped) noexcept nogil:
    """Draw once, and return whether a merge is dropped; the probability is ``dropped`` / 2^53."""
    state[0] = advanced(state[0])
    return mixed(state[0]) >> 11 < dropped


cdef int64_t merge_short(const MergeTable* table, int32_t size, int32_t* ids) noexcept nogil


# If ``dropped`` is 0, nothing is drawn and ``state`` is not used.
cdef int64_t merge_long(
    const MergeTable* table, int32_t size, int32_t* ids, Scratch* scratch, uint64_t state, uint64_t dropped
) except -1 nogil


cdef class MergeSegmenter(PretokenSegmenter):
    cdef MergeTable table
    cdef readonly Derivations derivations
    cdef readonly Abreast abreast
    cdef object arrays
    cdef int64_t cut_abreast(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil
    cdef int64_t replay(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil
