from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct TrieUnit:
    int32_t base    # slot of the child by byte 0, were there one
    int32_t check   # the parent's slot; negative where the slot is free
    int32_t token   # id of the token that ends here, or -1


cdef struct DoubleArray:
    TrieUnit* units
    int64_t slots           # length of ``units``
    int64_t nodes           # units in use, the root included


cdef int grow_whole(
    DoubleArray* array, const uint8_t* data, const int64_t* offsets, bint backwards, int32_t[::1] order, int32_t held,
    share,
) except -1
