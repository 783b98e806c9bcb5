from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Scratch:
    void* memory
    size_t bytes


cdef void* reserve(Scratch* scratch, size_t bytes) noexcept nogil
cdef void release(Scratch* scratch) noexcept nogil


cdef class PretokenSegmenter:
    cdef int64_t cut(self, const uint8_t* text, int64_t size, int32_t* ids, Scratch* scratch) noexcept nogil
