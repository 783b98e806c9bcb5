from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


cdef struct Scratch:
    void* memory
    size_t bytes


cdef void* reserve(Scratch* scratch, size_t bytes) except NULL nogil
cdef void release(Scratch* scratch) noexcept nogil
cdef uint64_t place_of(uint64_t document, int64_t offset) noexcept nogil


cdef struct Piece:
    # A pre-token in a batch.
    const uint8_t* text
    int64_t size        # bytes, at least 1
    int64_t count       # number of ids


cdef class PretokenSegmenter:
    cdef readonly bint placed
    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) except -1 nogil
    cdef int64_t cut_at(
        self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch, uint64_t place
    ) except -1 nogil
    cdef int64_t cut_all(self, Piece* pieces, int64_t n, int32_t* ids, Scratch* scratch) except -1 nogil
