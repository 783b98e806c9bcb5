from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct TrieUnit:
    int32_t base    # slot of the child for byte 0, if there were one
    int32_t check   # slot of the parent; negative if the slot is free
    int32_t token   # id of the token that ends here; -1 for none


cdef struct DoubleArray:
    TrieUnit* units
    int64_t slots           # length of ``units``
    int64_t nodes           # units in use, including the root


cdef int grow_whole(
    DoubleArray* array, const uint8_t* data, const int64_t* offsets, bint backwards, int32_t[::1] order, int32_t held,
    share,
) except -1
